"""The value of each sentence for a query: signals as rows of numbers, each with a weight."""
