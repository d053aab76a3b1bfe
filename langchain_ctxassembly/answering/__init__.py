"""The answer chain as a Runnable: models, evidence, messages and spans of LangChain."""
