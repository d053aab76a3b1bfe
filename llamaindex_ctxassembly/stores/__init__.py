"""Where neighbours come from: LlamaIndex's docstores and vector stores, and how each holds a filter."""
