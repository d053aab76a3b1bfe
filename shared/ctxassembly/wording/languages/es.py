"""Spanish."""

from ctxassembly.wording.languages.language import Language

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
    no_content="No se ha encontrado contenido relevante.",
    refusal="No puedo dar consejos sobre eso.",
    unanswered="No se ha podido buscar nada sobre: {}",
    concise="Responda de forma concisa.",
    continues_above="{} continúa más arriba",
    given_above="Las fuentes encontradas figuran más arriba{}.",
    same_text_in="El mismo texto figura en: {}",
    given_earlier="Fuentes mostradas antes y omitidas a partir de ahora: {}",
    nothing_left_out="Nada de lo omitido coincide.",
    left_out_sources="Omitido y disponible: {}",
    left_out_unreadable="Lo omitido no se puede leer en este momento.",
    draft="Respuesta hasta ahora:",
    refine=(
        "Abajo figura una respuesta basada en partes anteriores del contexto. Mejórela con esta parte y "
        "conserve sus etiquetas. Si esta parte no aporta nada, repítala tal cual."
    ),
    stop_words=(
        "a al algo algunas algunos ante antes como con contra cual cuando de del desde donde durante e el ella ellas "
        "ellos en entre era erais eran eras eres es esa esas ese eso esos esta estaba estabais estaban estabas estad "
        "estada estadas estamos estando estar estaremos estará estarán estarás estaré estaréis estaría estaríais "
        "estaríamos estarían estarías estas este estemos esto estos estoy estuve estuviera estuvierais estuvieran "
        "estuvieras estuvieron estuviese estuvieseis estuviesen estuvieses estuvimos estuviste estuvisteis "
        "estuviéramos estuviésemos estuvo está estábamos estáis están estás esté estéis estén estés fue fuera fuerais "
        "fueran fueras fueron fuese fueseis fuesen fueses fui fuimos fuiste fuisteis fuéramos fuésemos ha habida "
        "habidas habido habidos habiendo habremos habrá habrán habrás habré habréis habría habríais habríamos habrían "
        "habrías habéis había habíais habíamos habían habías han has hasta hay haya hayamos hayan hayas hayáis he "
        "hemos hube hubiera hubierais hubieran hubieras hubieron hubiese hubieseis hubiesen hubieses hubimos hubiste "
        "hubisteis hubiéramos hubiésemos hubo la las le les lo los me mi mis mucho muchos muy más mí mía mías mío "
        "míos nada ni no nos nosotras nosotros nuestra nuestras nuestro nuestros o os otra otras otro otros para pero "
        "poco por porque que quien quienes qué se sea seamos sean seas seremos será serán serás seré seréis sería "
        "seríais seríamos serían serías seáis sin sobre sois somos son soy su sus suya suyas suyo suyos sí también "
        "tanto te tendremos tendrá tendrán tendrás tendré tendréis tendría tendríais tendríamos tendrían tendrías "
        "tened tenemos tenga tengamos tengan tengas tengo tengáis tenida tenidas tenido tenidos teniendo tenéis tenía "
        "teníais teníamos tenían tenías ti tiene tienen tienes todo todos tu tus tuve tuviera tuvierais tuvieran "
        "tuvieras tuvieron tuviese tuvieseis tuviesen tuvieses tuvimos tuviste tuvisteis tuviéramos tuviésemos tuvo "
        "tuya tuyas tuyo tuyos tú un una uno unos vosotras vosotros vuestra vuestras vuestro vuestros y ya yo él "
        "éramos"
    ),
    question_words=(
        "cuales cuanta cuantas cuanto cuantos cuál cuáles cuándo cuánta cuántas cuánto cuántos cómo dame debe deben "
        "defina define describa describe dime dónde enumera enumere explica explique favor lista muestra muestre "
        "puede pueden quién quiénes resuma resume según ser"
    ),
    number_words=(
        "2 dos 3 tres 4 cuatro 5 cinco 6 seis 7 siete 8 ocho 9 nueve 10 dieci 10 diez 12 doce 13 trece 14 catorce "
        "15 quince 20 veinte 20 veinti 30 treinta 40 cuarenta 50 cincuenta 60 sesenta 70 setenta 80 ochenta "
        "90 noventa 100 cien 100 ciento 200 doscientos 200 doscientas 500 quinientos 500 quinientas 700 setecientos "
        "700 setecientas 900 novecientos 900 novecientas 100 cientos 100 cientas 1000 mil 1000000 millón "
        "1000000 millones"
    ),
    negations="jamás nada nadie ni ningún ninguna ninguno no nunca sin tampoco",
    months="enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    weekdays="lunes martes miércoles jueves viernes sábado domingo",
)
