"""What the notebooks share: documents in a database, a model that quotes, labelled questions, their execution."""
