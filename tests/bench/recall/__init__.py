"""Which share of the evidence stands among the best chunks of a retrieval, by way of retrieving."""
