"""The demo: Python's own language reference, asked a question. `make demo Q="..."`."""
