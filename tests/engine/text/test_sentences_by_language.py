"""Where sentences end and lines go on, a table for each kind; "¦" is where a sentence begins."""

from __future__ import annotations

import pytest

from ctxassembly.text.sentences import sentence_spans


def marked(text: str) -> str:
    return "¦".join(text[begin:end] for begin, end in sentence_spans(text))


@pytest.mark.parametrize(
    "text",
    [
        "Adults take 500 mg. ¦Children take 250 mg. ¦Infants take 60 mg. ¦Store it.",
        "Mix it dry. ¦Stand by. ¦It is the sky. ¦Go at 50 km. ¦Wait 3 h. ¦Then rest 5 min. ¦Come in.",
        "He said no. ¦Children left. ¦It is modern art. ¦The rest is set. ¦5 people came.",
        "Take 5 g. ¦Children take 2 g. ¦Use 20 V. ¦Stop.",
        "It opens at 5 p.m. ¦Children wait. ¦At 5 a.m. they go.",
    ],
)
def test_units_and_short_words_end_sentences(text: str):
    assert marked(text.replace("¦", "")) == text


@pytest.mark.parametrize(
    "text",
    [
        "See Fig. 3. ¦It shows more. ¦See Art. 9 GDPR. ¦Go.",
        "Smith et al. (2020) say so. ¦See refs. 5 and 6. ¦J. R. Bach came.",
        "Pregunte a la Dra. López. ¦Luego venga. ¦Véase la pág. 5. ¦El Sr. Ruiz.",
        "Die Firma, gegr. 1901, wächst. ¦Sie hat 5 Mio. Euro. ¦Siehe Abschn. 5. ¦Das kostet 3 Mrd. Euro.",
        "Ir. De Vries komt. ¦Zie hfst. 3 en afb. 5. ¦Mw. Jansen ook.",
        "Er wohnt in der Hauptstr. 5 in Bonn. ¦Die Fa. Müller u. a. liefern. ¦Los EE. UU. firman. ¦Zob. art. 9 ust. 2.",
        "Voir chap. 3 et M. Dupont. ¦Fin.",
        "См. рис. 5 и табл. 2. ¦Проф. Иванов, ул. Ленина. ¦Всё.",
        "Zie Art. IV voor meer. ¦Am 7. Mai kam er. ¦Ende.",
    ],
)
def test_abbreviations_of_each_language_end_none(text: str):
    assert marked(text.replace("¦", "")) == text


@pytest.mark.parametrize(
    "text",
    [
        "Er sagte: „Zu.“ ¦Dann ging er. ¦»Zu.« ¦Sie kam. ¦»Zu«, rief er.",
        "Il dit : « La grille est fermée. » ¦Le gardien a la clé. ¦Il pleut.",
        "« Il pleut. » dit-il. ¦« Viens ! » ¦Il part.",
        "«Zu.» ¦Dann. ¦‚Zu.‘ ¦Dann. ¦“Go.” ¦He went.",
        "Er sagte: „Sie rief: ‚Zu.‘“ ¦Dann ging er.",
        "彼は「行く。」¦外は雨。¦『止まれ。』¦彼は（止まった。）¦終わり。",
        "他说：“走吧。”¦天黑了。",
    ],
)
def test_marks_of_all_languages_close_with_their_sentence(text: str):
    assert marked(text.replace("¦", "")) == text


@pytest.mark.parametrize(
    "text",
    [
        "Բարեւ։ ¦Լավ։",
        "ሰላም ነው። ¦እሺ።",
        "یہ ایک ہے۔ ¦یہ دو ہے۔",
        "यह एक है। ¦यह दो है।",
        "នេះមួយ។ ¦នេះពីរ។",
        "ဒါက တစ်ခု။ ¦ဒါက နှစ်ခု။",
    ],
)
def test_stops_of_all_scripts_end_sentences(text: str):
    assert marked(text.replace("¦", "")) == text


@pytest.mark.parametrize(
    "text",
    [
        "Article 17. Right to erase. ¦Text.",
        "## Kapitel 3. Überblick. ¦Text.",
        "Section 3.2. Scope. ¦Text.",
        "Chapter IV. Rules. ¦Text.",
        "§ 17. Löschung. ¦Text.",
        "المادة 17. الحق. ¦نص.",
        "Статья 17. Право. ¦Текст.",
        "Άρθρο 17. Δικαίωμα. ¦Κείμενο.",
        "1 Introduction ........... 3\n¦2.1 Scope . . . . . . . . . 12",
    ],
)
def test_a_heading_with_its_number_is_one_and_so_is_a_line_of_contents(text: str):
    assert marked(text.replace("¦", "")) == text


@pytest.mark.parametrize(
    "text",
    [
        "The processing of health records is forbidden, see Art.\n9 GDPR and the register.",
        "The fee for a room with a view of the garden is\n$5 for each day of the stay in the house.",
        "The fee for a room with a view (of the garden)\nIs not what it was in the old days, as all say.",
        "The fee for a room with a view of the old garden\n(and of the sea) is higher than it was before.",
        "It is as said in all the old books on this [12]\nand in those that came in the years after it was.",
        "The share of all the people who came was 55.5 %\nof those who had been asked to come to the fair.",
        "The patients are to be given the non- or\nanti-allergic cream that is kept in the fridge.",
        "> so they wrote that the rooms of the old house\n> Were not to be used by anyone but the guests.",
        "The old limit of the number of people in it was\n50 and the new one is not yet known to anybody.",
        "病人在检查前六小时内不得进食，如果正在服用抗凝血药物，则必须先咨询医生，不得自行\n停药，否则可能发生血栓。",
        "患者は検査の六時間前から食事をしてはならず、薬を飲んでいる場合は勝手に\n中止しないで、医師に相談してください。",
        "환자는 검사 여섯 시간 전부터 음식을 먹어서는 안 되며, 약이 있으면 스스로\n중단하지 말고 의사와 상의하십시오.",
        "यदि रोगी रक्त पतला करने वाली दवा ले रहा है तो उसे अपने आप\nबंद नहीं करना चाहिए।",
        "إذا كان المريض يتناول دواء لتسييل الدم فلا يجوز له أن\nيتوقف عنه من دون استشارة الطبيب.",
        "אם המטופל נוטל תרופה לדילול הדם אסור לו להפסיק\nאותה ללא התייעצות עם רופא.",
        "ห้ามผู้ป่วยหยุดยาละลายลิ่มเลือดด้วยตนเองโดยไม่\nปรึกษาแพทย์เพราะอาจเกิดลิ่มเลือดได้",
    ],
)
def test_a_full_line_without_a_stop_goes_on_in_every_script(text: str):
    assert marked(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "Anna Meyer, internal medicine, room 12, 0201 555 1234\nBo Li, surgery of the hand, room 14, 0201 555 1235",
        "Dr. Anna Meyer  0201 555 1234\nDr. Bo Li  0201 555 1235",
        "12 Long Street\nOldtown\n4567 Newland",
        (
            "Shall I compare thee to a summer's day,\nThou art more lovely and more temperate,\n"
            "Rough winds do shake the darling buds of May,\nAnd summer's lease hath all too short a date"
        ),
        "self.assertEqual(find(words, 5), something_long)\nreturn words",
        "x = compute(something_long, other_long_name, third)\ny = compute(more)",
        "心内科门诊电话：010-88886666\n外科门诊电话：010-88886667",
        "Net sales of products and services 294,866 298,085\nNet sales of tablets 26,694 28,300",
        "The tenant has to keep the house in good order at all\n2. The tenant pays on the first of each month",
        "The tenant has to keep the house in good order at all\n* the tenant pays on the first of each month",
        "The tenant has to keep the house in good order at all\nDate of birth: 5 May 1970",
        "The tenant has to keep the house in good order at all\n一、病人不得进食",
        "세입자는 집과 정원을 항상 깨끗하고 좋은 상태로 유지하고 있어야\n가. 세입자는 매월 첫날에 임대료를 낸다",
        "return make_words(text, language, separators);\nexport default something",
        "2024-03-01 12:00:01 INFO server started on port of call\n2024-03-01 12:00:02 INFO server stopped on the other",
    ],
)
def test_lists_addresses_poems_and_code_stay_lines(text: str):
    assert marked(text) == text.replace("\n", "\n¦")
