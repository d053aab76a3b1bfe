"""What the notebooks share: documents in a database, a model that quotes, labeled questions, their execution."""
