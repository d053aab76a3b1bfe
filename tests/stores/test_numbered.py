from __future__ import annotations

import pytest

from ctxassembly.stores.numbering import NumberingReport


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        (NumberingReport(1, 1, (), 0, 0), "1 chunk was numbered; 1 document has neighbors now"),
        (NumberingReport(1_204, 37, (), 0, 0), "1,204 chunks were numbered; 37 documents have neighbors now"),
        (
            NumberingReport(0, 0, ("a.pdf",), 1, 1),
            "; 1 document could not be ordered, since its chunks have the same page",
        ),
        (
            NumberingReport(0, 0, ("a", "b"), 2, 2),
            "; 2 documents could not be ordered, since their chunks have the same",
        ),
        (NumberingReport(0, 0, (), 0, 1), "; 1 chunk names neither a document nor a source"),
        (NumberingReport(0, 0, (), 0, 3), "; 3 chunks name neither a document nor a source"),
    ],
)
def test_numbers_agree_with_their_nouns_and_verbs(numbers: NumberingReport, said: str) -> None:
    assert said in str(numbers)
