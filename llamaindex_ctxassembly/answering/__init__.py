"""The answer chain as query engine and chat engine: models, evidence, messages and spans of LlamaIndex."""
