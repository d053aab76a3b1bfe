"""Drivers of flows: they answer a flow's requests by stores, embeddings and models, called or awaited."""
