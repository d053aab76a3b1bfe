"""Selection of the candidates in a context, by their relevance to a query and within the budget."""
