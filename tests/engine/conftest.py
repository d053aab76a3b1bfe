"""`pytest tests/engine --hypothesis-profile thorough` looks thirty times as far."""

from hypothesis import settings

settings.register_profile("thorough", max_examples=3_000)
