"""Where neighbours come from: LangChain's vector stores, and how each holds a filter."""
