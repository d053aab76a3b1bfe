from __future__ import annotations

import pytest

from ctxassembly.stores.postgres.numbering import StoredNumbers


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        (StoredNumbers(1, 1, (), 0, 0), "1 chunk was numbered; 1 document has neighbours now"),
        (StoredNumbers(1_204, 37, (), 0, 0), "1,204 chunks were numbered; 37 documents have neighbours now"),
        (
            StoredNumbers(0, 0, ("a.pdf",), 1, 1),
            "; 1 document could not be ordered, since its chunks have the same page",
        ),
        (StoredNumbers(0, 0, ("a", "b"), 2, 2), "; 2 documents could not be ordered, since their chunks have the same"),
        (StoredNumbers(0, 0, (), 0, 1), "; 1 chunk names neither a document nor a source"),
        (StoredNumbers(0, 0, (), 0, 3), "; 3 chunks name neither a document nor a source"),
    ],
)
def test_numbers_agree_with_their_nouns_and_verbs(numbers: StoredNumbers, said: str) -> None:
    assert said in str(numbers)
