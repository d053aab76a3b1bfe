"""What stands: values for a query, and filling the budget."""
