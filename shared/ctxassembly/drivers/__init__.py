"""Who answers a flow: stores, embeddings and models, called or awaited."""
