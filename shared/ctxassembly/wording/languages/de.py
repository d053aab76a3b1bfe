"""German."""

from ctxassembly.wording.languages.language import Language

LANGUAGE = Language(
    numbered="Quelle: {source}{page}",
    one_page=", Seite {}",
    many_pages=", Seiten {}",
    row="Zeile {}",
    unknown="unbekannt",
    summary="[Seitenkontext: {}]",
    supplement="--- ERGÄNZENDE INFORMATIONEN ---",
    context="Kontext:",
    nothing="(Es wurden keine Dokumente gefunden.)",
    question="Frage:",
    cited_as=("quelle", "quellen"),
    quotes=(("„", "“"), ("»", "«")),
    task="Beantworten Sie die Frage auf der Grundlage des mitgelieferten Kontexts.",
    only="Verwenden Sie ausschließlich, was im Kontext steht.",
    insufficient="Reicht der Kontext nicht aus, sagen Sie das und nennen Sie, was fehlt.",
    no_inference="Leiten Sie nichts ab, raten Sie nicht und kombinieren Sie nichts über das hinaus, was dort steht.",
    refuse="Steht die Antwort nicht darin, antworten Sie mit genau diesem Satz und sonst nichts: {}",
    not_enough="Der vorliegende Kontext enthält nicht genügend Informationen, um diese Frage zu beantworten.",
    first="Stützen Sie sich in erster Linie auf den Kontext.",
    own_knowledge=(
        "Allgemeinwissen darf verdeutlichen, was dort steht, wenn Sie es als Allgemeinwissen kennzeichnen. "
        "Widersprechen sich die beiden, gilt der Kontext."
    ),
    cite_label="Setzen Sie das Label der Quelle direkt hinter jede konkrete Aussage, zum Beispiel {}.",
    cite_index=(
        "Setzen Sie den Index des Chunks in eckigen Klammern direkt hinter jede konkrete Aussage, zum Beispiel {}."
    ),
    either="{} oder {}",
    no_labels="Schreiben Sie keine Verweiszeichen.",
    supplement_rule=(
        "Die ergänzenden Informationen vervollständigen die Dokumente und haben kein Label: Verwenden Sie sie, "
        "ohne darauf zu verweisen. Widersprechen sich die beiden, gelten die Dokumente."
    ),
    no_content="Keine relevanten Inhalte gefunden.",
    refusal="Dazu kann ich keinen Rat geben.",
    unanswered="Dazu konnte nichts nachgeschlagen werden: {}",
    concise="Fassen Sie sich kurz.",
    continues_above="{} geht oben weiter",
    given_above="Die gefundenen Quellen stehen oben{}.",
    same_text_in="Derselbe Text steht in: {}",
    given_earlier="Früher gezeigte Quellen, die ab hier ausgelassen sind: {}",
    nothing_left_out="Nichts von dem, was ausgelassen wurde, passt dazu.",
    left_out_sources="Ausgelassen und abrufbar: {}",
    left_out_unreadable="Was ausgelassen wurde, kann zurzeit nicht gelesen werden.",
    draft="Bisherige Antwort:",
    refine=(
        "Unten steht eine Antwort aus früheren Teilen des Kontexts. Verbessern Sie sie mit diesem Teil "
        "und behalten Sie ihre Labels bei. Fügt dieser Teil nichts hinzu, wiederholen Sie sie "
        "unverändert."
    ),
    stop_words=(
        "aber alle allem allen aller alles als also am an ander andere anderem anderen anderer anderes anderm andern "
        "anders auch auf aus bei bin bis bist da damit dann das dass dasselbe dazu dein deine deinem deinen deiner "
        "deines dem demselben den denn denselben der derer derselbe derselben des desselben dessen dich die dies "
        "diese dieselbe dieselben diesem diesen dieser dieses dir doch dort du durch ein eine einem einen einer eines "
        "einig einige einigem einigen einiger einiges einmal er es etwas euch euer eure eurem euren eurer eures für "
        "gegen gewesen hab habe haben hat hatte hatten hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer "
        "ihres im in indem ins ist jede jedem jeden jeder jedes jene jenem jenen jener jenes jetzt kann kein keine "
        "keinem keinen keiner keines können könnte machen man manche manchem manchen mancher manches mein meine "
        "meinem meinen meiner meines mich mir mit muss musste nach nicht nichts noch nun nur ob oder ohne sehr sein "
        "seine seinem seinen seiner seines selbst sich sie sind so solche solchem solchen solcher solches soll sollte "
        "sondern sonst um und uns unser unsere unserem unseren unseres unter viel vom von vor war waren warst was weg "
        "weil weiter welche welchem welchen welcher welches wenn werde werden wie wieder will wir wird wirst wo "
        "wollen wollte während würde würden zu zum zur zwar zwischen über"
    ),
    question_words=(
        "auflisten beschreibe beschreiben bitte darf definiere denen deren dürfen erklär erkläre erklären erläutere "
        "erläutern fasse gib liste müssen nenne nennen wann warum wem wen wer weshalb wessen wieso wieviel wieviele "
        "woher wohin worden wozu wurde wurden zeige zusammen"
    ),
    number_words=(
        "1 ein 2 zwei 3 drei 4 vier 5 fünf 6 sechs 7 sieben 8 acht 9 neun 10 zehn 11 elf 12 zwölf 13 dreizehn "
        "14 vierzehn 15 fünfzehn 16 sechzehn 17 siebzehn 18 achtzehn 19 neunzehn 20 zwanzig 30 dreißig 40 vierzig "
        "50 fünfzig 60 sechzig 70 siebzig 80 achtzig 90 neunzig 100 hundert 1000 tausend 1000000 million "
        "1000000 millionen"
    ),
    negations=(
        "kein keine keinem keinen keiner keines nein nicht nichts nie niemals niemand niemandem niemanden nirgends "
        "ohne weder"
    ),
    months="Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    weekdays="Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag",
)
