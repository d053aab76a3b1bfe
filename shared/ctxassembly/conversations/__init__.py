"""Several contexts in one conversation: their labels, and the citations of an answer over all of them."""
