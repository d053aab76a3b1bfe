"""A small Dutch hospital, all of it made up: brochures in chunks, a taxonomy, and vectors that take no model.

Its doctors have the names of their roles.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import matplotlib.pyplot as plt

from ctxassembly import Chunk, MemoryIndex, Retrieved
from ctxassembly.retrieval import ListRule, Node, Relation, Taxonomy
from ctxassembly.text.words import strip_accents, words

BROCHURES: dict[str, tuple[str, str, str, tuple[str, ...]]] = {
    "epilepsie-kinderen": (
        "Epilepsie bij kinderen",
        "clinical_info",
        "Kinderneurologie",
        (
            "Epilepsie is een aandoening van de hersenen. Eén op de tweehonderd kinderen heeft het.",
            "De kinderneuroloog stelt de diagnose en behandelt uw kind. Meestal begint dat met een gesprek en een EEG.",
            "De meeste kinderen krijgen medicijnen tegen de aanvallen. Geef ze elke dag op hetzelfde tijdstip.",
            "Duurt een aanval langer dan vijf minuten? Bel dan 112 en leg uw kind op de zij.",
        ),
    ),
    "kinderneurologie": (
        "Polikliniek Kinderneurologie",
        "practical",
        "Kinderneurologie",
        (
            "De polikliniek Kinderneurologie is op campus Noord, route 41.",
            "Neem bij het eerste bezoek filmpjes van de aanvallen mee. Die helpen de arts bij de diagnose.",
            "Op dinsdag is er een gezamenlijk spreekuur van arts en epilepsieverpleegkundige.",
        ),
    ),
    "epilepsie": (
        "Epilepsie bij volwassenen",
        "clinical_info",
        "Neurologie",
        (
            "Epilepsie kan op elke leeftijd beginnen. De neuroloog behandelt volwassenen.",
            "Na een aanval mag u een tijd niet autorijden. De neuroloog bespreekt dat met u.",
            "Helpen medicijnen niet, dan kan een operatie aan de hersenen helpen.",
        ),
    ),
    "eeg": (
        "EEG",
        "clinical_info",
        "Neurologie",
        (
            "Een EEG meet de activiteit van de hersenen. Het onderzoek doet geen pijn.",
            "Was de avond ervoor uw haar. Een kind mag een knuffel meenemen.",
        ),
    ),
    "opname-kind": (
        "Uw kind in het ziekenhuis",
        "practical",
        "Kindergeneeskunde",
        (
            "Een ouder mag bij het kind blijven slapen. Er is een bed naast dat van uw kind.",
            "De pedagogisch medewerker bereidt kinderen voor op een onderzoek.",
            "Broertjes en zusjes mogen elke middag op bezoek komen.",
        ),
    ),
    "hartfalen": (
        "Hartfalen",
        "clinical_info",
        "Cardiologie",
        (
            "Bij hartfalen pompt het hart te weinig bloed rond. De cardioloog behandelt u.",
            "Weeg uzelf elke ochtend. Bel bij twee kilo meer in drie dagen.",
            "Beperk zout en drink niet meer dan de arts met u afspreekt.",
        ),
    ),
    "ecg": (
        "ECG",
        "clinical_info",
        "Cardiologie",
        (
            "Een ECG laat zien hoe het hart klopt. Het duurt vijf minuten.",
            "Smeer voor het onderzoek geen crème op de borst.",
        ),
    ),
    "diabetes": (
        "Diabetes Mellitus",
        "clinical_info",
        "Endocrinologie",
        (
            "Bij Diabetes Mellitus is er te veel glucose in het bloed. De endocrinoloog behandelt u.",
            "Bewaar insuline in de koelkast en neem haar op reis in de handbagage mee.",
            "De diabetesverpleegkundige leert kinderen en ouders om zelf te prikken.",
        ),
    ),
    "huid": (
        "Lichttherapie",
        "clinical_info",
        "Dermatologie",
        (
            "De dermatoloog behandelt eczeem en andere ziekten van de huid.",
            "Bij lichttherapie worden psoriasisplekken drie keer in de week belicht.",
        ),
    ),
    "oog": (
        "Oogonderzoek",
        "clinical_info",
        "Oftalmologie",
        (
            "Door de oogdruppels ziet u enkele uren wazig. Rijd niet zelf naar huis.",
            "Neem uw bril en uw lenzen mee naar het onderzoek.",
        ),
    ),
    "mri": (
        "MRI",
        "clinical_info",
        "Radiologie",
        (
            "De MRI maakt foto's met een sterke magneet. Laat sieraden thuis.",
            "Bent u bang in kleine ruimten? Vertel het de laborant van Radiologie.",
        ),
    ),
    "bereikbaarheid": (
        "Route en parkeren",
        "practical",
        "Gastvrijheid",
        (
            "Parkeren kan in de garage naast de ingang van campus Noord.",
            "Een rolstoel leent u bij de ingang. U betaalt een muntje van twee euro.",
        ),
    ),
    "afspraken": (
        "Een afspraak maken",
        "appointments",
        "Gastvrijheid",
        (
            "Voor een afspraak hebt u een verwijzing van uw huisarts nodig.",
            "Kunt u niet komen? Bel de polikliniek een dag van tevoren.",
        ),
    ),
    "rechten": (
        "Uw rechten",
        "legal_admin",
        "Patiëntenservice",
        ("Ouders mogen het dossier van kinderen tot zestien jaar inzien. Klachten behandelt de klachtenfunctionaris.",),
    ),
}
"""Title, category, department and the texts of the chunks."""

DEPARTMENTS = {
    "Kinderneurologie": ("kinderneurologen", "kinderneuroloog"),
    "Neurologie": ("neurologen", "neuroloog"),
    "Cardiologie": ("cardiologen", "hartspecialist"),
    "Dermatologie": ("huidarts", "dermatologen"),
    "Endocrinologie": ("suikerdokter",),
    "Oftalmologie": ("oogarts", "oogartsen"),
    "Radiologie": ("scan",),
}
DOCTORS = {
    "kinderneuroloog A": ("Kinderneurologie", "Noord"),
    "kinderneuroloog B": ("Kinderneurologie", "Zuid"),
    "neuroloog C": ("Neurologie", "Noord"),
    "cardioloog D": ("Cardiologie", "Zuid"),
    "dermatoloog E": ("Dermatologie", "Zuid"),
}
CONDITIONS = {
    "Epilepsie bij kinderen": (("kinderepilepsie",), "Kinderneurologie"),
    "Epilepsie": ((), "Neurologie"),
    "Hartfalen": ((), "Cardiologie"),
    "ECG": (("hartfilmpje",), "Cardiologie"),
    "Diabetes Mellitus": (("suikerziekte",), "Endocrinologie"),
}
TOPICS = {
    "children": ("kind", "ouder", "knuffel"),
    "brain": ("epileps", "neuro", "hersen", "aanval", "eeg"),
    "heart": ("hart", "cardio", "ecg", "zout"),
    "sugar": ("diabet", "suiker", "insulin", "gluco"),
    "skin": ("huid", "dermat", "eczeem", "licht"),
    "eye": ("oog", "oftal", "bril", "lenzen"),
    "pictures": ("mri", "scan", "radiolog", "foto"),
    "treatment": ("arts", "behandel", "neuroloog", "cardioloog", "medicijn", "operatie"),
    "way": ("parke", "rolstoel", "campus", "route", "ingang"),
    "visits": ("afspraak", "bel", "polikliniek", "spreekuur", "bezoek"),
    "rights": ("klacht", "dossier", "recht"),
}
"""The dimensions of the vectors, each with beginnings of words that speak for it."""


def embed(text: str) -> list[float]:
    """A made-up vector: for each topic the root of how many words speak for it, and a little of all of them."""
    said = words(strip_accents(text))
    return [0.2 + math.sqrt(sum(word.startswith(beginnings) for word in said)) for beginnings in TOPICS.values()]


def chunks() -> Iterator[Chunk]:
    """The brochures in chunks."""
    for name, (title, category, department, texts) in BROCHURES.items():
        marks = {"title": title, "source": f"{name}.pdf", "category": category, "department": department}
        for index, text in enumerate(texts):
            yield Chunk(f"{name}#{index}", name, text, index, metadata=marks)


def hospital_index() -> MemoryIndex:
    """All chunks, with the vectors of their titles and texts."""
    stored = list(chunks())
    return MemoryIndex(stored, [embed(f"{chunk.metadata['title']} {chunk.text}") for chunk in stored])


def hospital_taxonomy() -> Taxonomy:
    """Departments, the conditions that they handle, and the doctors who work there."""
    nodes = [Node(name, "afdeling", name, aliases) for name, aliases in DEPARTMENTS.items()]
    nodes += [Node(name, "aandoening", name, aliases) for name, (aliases, _) in CONDITIONS.items()]
    nodes += [Node(name, "arts", name, metadata={"campus": campus}) for name, (_, campus) in DOCTORS.items()]
    handles = [Relation(department, "HANDLES", name) for name, (_, department) in CONDITIONS.items()]
    works_in = [Relation(name, "WORKS_IN", department) for name, (department, _) in DOCTORS.items()]
    return Taxonomy(
        nodes,
        [*handles, *works_in],
        name="artsenlijst",
        type_words={"arts": ("arts", "artsen", "dokter")},
        lists=ListRule(types=("arts",)),
        statements={"arts": "Dr. {name} is verbonden aan {afdeling} op campus {campus}."},
    )


def draw_places(retrieved: Retrieved, most: int = 10) -> None:
    """Draw the place of each chunk after each step, for the best `most` places."""
    steps = [step for step in retrieved.trace.steps if step.name not in ("resolve", "search")]
    figure, axes = plt.subplots(figsize=(7, 3.6), dpi=80)
    for chunk_id in dict.fromkeys(id_ for step in steps for id_ in step.ids[:most]):
        places = [step.ids.index(chunk_id) + 1 if chunk_id in step.ids[:most] else None for step in steps]
        (line,) = axes.plot(range(len(steps)), [math.nan if place is None else place for place in places], marker="o")
        last = max(at for at, place in enumerate(places) if place is not None)
        axes.annotate(f"  {chunk_id}", (last, places[last] or 0), color=line.get_color(), fontsize=8, va="center")
    axes.set_xticks(range(len(steps)), [step.name for step in steps])
    axes.set_xlim(-0.2, len(steps) + 0.7)
    axes.set_yticks(range(1, most + 1))
    axes.invert_yaxis()
    axes.set_ylabel("place")
    axes.spines[["top", "right"]].set_visible(False)
    plt.show()
    plt.close(figure)
