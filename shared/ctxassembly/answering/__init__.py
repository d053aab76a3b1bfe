"""From a question in a conversation to an answer with its citations, as one generator."""
