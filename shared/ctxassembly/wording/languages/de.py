"""German."""

from ctxassembly.wording.languages.record import Language

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
    concise="Fassen Sie sich kurz.",
)
