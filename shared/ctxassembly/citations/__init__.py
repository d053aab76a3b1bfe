"""Reading an answer: its citations, its quotes, and its text as it is spoken."""
