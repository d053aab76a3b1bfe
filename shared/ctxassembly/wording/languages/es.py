"""Spanish."""

from ctxassembly.wording.languages.record import Language

LANGUAGE = Language(
    numbered="Fuente: {source}{page}",
    one_page=", página {}",
    many_pages=", páginas {}",
    row="Fila {}",
    unknown="desconocida",
    summary="[Resumen de la página: {}]",
    supplement="--- INFORMACIÓN COMPLEMENTARIA ---",
    context="Contexto:",
    nothing="(No se ha encontrado ningún documento.)",
    question="Pregunta:",
    cited_as=("fuente", "fuentes"),
    quotes=(("«", "»"), ("“", "”")),
    task="Responda a la pregunta basándose en el contexto que la acompaña.",
    only="Utilice únicamente lo que dice el contexto.",
    insufficient="Si el contexto no es suficiente, dígalo e indique qué falta.",
    no_inference="No deduzca, no suponga ni combine nada más allá de lo que está escrito en él.",
    refuse="Si la respuesta no figura en él, responda exactamente con esta frase y nada más: {}",
    not_enough="El contexto proporcionado no contiene suficiente información para responder a esta pregunta.",
    first="Básese ante todo en el contexto.",
    own_knowledge=(
        "Puede añadir conocimientos generales para aclarar lo que dice, siempre que indique que se trata de "
        "conocimientos generales. En caso de contradicción, prevalece el contexto."
    ),
    cite_label="Indique la etiqueta de la fuente justo después de cada afirmación concreta, por ejemplo {}.",
    cite_index="Indique el índice del chunk entre corchetes justo después de cada afirmación concreta, por ejemplo {}.",
    either="{} o {}",
    no_labels="No escriba marcas de referencia.",
    supplement_rule=(
        "La información complementaria completa los documentos y no tiene etiqueta: utilícela sin citarla. "
        "En caso de contradicción, prevalecen los documentos."
    ),
    concise="Responda de forma concisa.",
)
