"""The most that a view shows, so that a page stays below a megabyte whatever was assembled.

Beyond a limit a view says how many more there are: nothing is left out in silence.
"""

CONTEXT_BYTES = 300_000
"""Bytes of the reading view with its markup: some 40,000 tokens of text."""
FRAGMENTS_BYTES = 150_000
"""Bytes of the retrieved fragments with their markup."""
DECISIONS_BYTES = 200_000
"""Bytes of the rows in the table of decisions."""
EVIDENCE_BYTES = 30_000
"""Bytes of the list of the evidence."""
EXCLUDED_HITS_BYTES = 100_000
"""Bytes of the table of hits that were lost."""
NOTES_BYTES = 30_000
"""Bytes of the notes."""
MAX_LABEL_CHUNKS = 20
"""Chunks listed under one label."""
FRAGMENT_CHARS = 1_500
"""Characters of a fragment. A longer one shows its two ends, where chunks overlap."""
MIN_HIDDEN_CHARS = 300
"""Fewest characters of a fragment that are worth hiding."""
MAX_COUNTED_CHUNKS = 2_000
"""Duplicates whose tokens are counted, for each rule."""
MISSING_CHARS = 600
"""Characters of a part that was stripped or cut."""
MAX_DECISIONS = 300
"""Rows of the table of decisions."""
MAX_DOCUMENTS = 8
"""Documents with a line of their own in the budget; the others share one."""
MAX_LABELS = 12
"""Labels shown of each context in a comparison."""
ID_CHARS = 60
"""Characters of an id, and of a file's name in a table."""
VALUE_CHARS = 120
"""Characters of a metadata value, a header or a reason."""
NOTE_CHARS = 300
"""Characters of a note, and of the query."""
