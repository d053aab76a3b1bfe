"""Several contexts in one conversation: their labels, and what an answer cites of all of them."""
