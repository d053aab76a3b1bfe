"""A context as plain data, and back."""
