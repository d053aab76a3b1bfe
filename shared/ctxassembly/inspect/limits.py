"""How much a view shows at most, so that a page keeps below a megabyte whatever was assembled.

What is beyond a limit is counted in a line of its own, never left out in silence.
"""

READING_BYTES = 300_000
"""Of the reading view with all its markup: some 40,000 tokens of text."""
FRAGMENTS_BYTES = 150_000
"""Of the retrieved fragments, marked up."""
DECISIONS_BYTES = 250_000
"""Of the rows of the table of decisions."""
NOTES_BYTES = 30_000
DETAILED_CHUNKS = 20
"""Chunks listed under one label."""
FRAGMENT_CHARS = 1_500
"""Characters of each; of longer ones the two ends are shown, where chunks overlap."""
HIDDEN_CHARS = 300
"""Fewer of a fragment are not worth hiding."""
COUNTED_CHUNKS = 2_000
"""Duplicates whose tokens are counted."""
GONE_CHARS = 600
"""Characters of each part that was stripped or cut."""
DECISIONS = 300
"""Rows of the table of decisions."""
DOCUMENTS = 8
"""Documents with a line of their own in the budget; the others have one together."""
ORDER_LABELS = 12
"""Labels shown of each context that is compared."""
ID_CHARS = 60
"""Characters of an id, and of a file's name in a table."""
VALUE_CHARS = 120
"""Characters of a metadata value, a header or a reason."""
NOTE_CHARS = 300
"""Characters of a note, and of the query."""
