"""Choosing: from candidates that may stand to those that do, by their value for a query and by the budget."""
