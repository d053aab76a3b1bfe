from __future__ import annotations

import sys
from itertools import permutations

import pytest

from ctxassembly.assembly.dedup.facts import differ_in_facts, find_facts
from ctxassembly.wording.languages import LANGUAGES


def differ(first: str, second: str) -> bool:
    found = {differ_in_facts(find_facts(one), find_facts(other)) for one, other in permutations((first, second))}
    assert len(found) == 1  # in either order
    return found.pop()


@pytest.mark.parametrize(
    ("rule", "first", "second"),
    [
        ("numbers", "Wait for 2 hours.", "Wait for two hours."),
        ("numbers", "Take 5 mg.", "Take 50 mg."),
        ("numbers", "Take 5 mg.", "Take some."),
        ("numbers", "A share is 3.5 euros.", "A share is 35 euros."),
        ("numbers", "By ISO27001.", "By ISO27002."),
        ("dates", "It opens on Monday.", "It opens on Tuesday."),
        ("dates", "Op 5 mei.", "Op 5 juni."),
        ("dates", "Le lundi.", "Le mardi."),
        ("dates", "You may come on 5 May.", "You may come on 5 June."),
        ("names", "Ask for doctor Visser.", "Ask for doctor Jansen."),
        ("names", "The entrance is in Mill Street.", "The entrance is in Church Street."),
        ("names", "Take vitamin B.", "Take vitamin D."),
        ("negations", "You may eat.", "You may not eat."),
        ("negations", "You can drive.", "You can't drive."),
        ("negations", "They didn’t and may not.", "They did and may not."),
        ("negations", "U mag eten.", "U mag niet eten."),
        ("negations", "Sie dürfen fahren.", "Sie dürfen nicht fahren."),
        ("negations", "Vous pouvez manger.", "Vous ne pouvez pas manger."),
        ("negations", "Puede comer.", "No puede comer."),
    ],
)
def test_numbers_dates_names_and_negations_make_a_difference(rule: str, first: str, second: str):
    """Numbers, dates, names and negations that differ forbid a semantic copy."""
    assert differ(first, second), rule


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Do not eat for six hours.", "Six hours without food come first."),
        ("Do not eat for six hours.", "Zes uur lang niet eten."),
        ("It opens on Monday 5 May.", "Het opent op maandag 5 mei."),
        ("Am Montag wird geöffnet.", "Geöffnet wird am Montag."),
        ("An hour is 1,000 euros.", "The cost of one hour: 1.000 euros."),
        ("Anna Visser may drive.", "The patient, Anna Visser, can drive."),
        ("1. Drink water.", "1. Have water."),
        ("Then I may drive.", "Then driving is fine."),
        ("", ""),
    ],
)
def test_other_words_for_the_same_facts_make_none(first: str, second: str):
    assert not differ(first, second)


@pytest.mark.parametrize("code", LANGUAGES)
def test_each_language_has_all_months_and_weekdays(code: str):
    language = LANGUAGES[code]
    assert len(set(language.months.split())) == 12
    assert len(set(language.weekdays.split())) == 7
    assert find_facts(language.negations).negations >= len(language.negations.split())


def test_any_character_can_be_read():
    find_facts(" ".join(map(chr, range(sys.maxunicode + 1))))


@pytest.mark.parametrize("text", ["ten" * 50_000, "dosdos" * 6 + " ", "1," * 50_000, "n't" * 50_000, "A b. " * 30_000])
def test_hostile_text_takes_no_longer(text: str):
    find_facts(text)
