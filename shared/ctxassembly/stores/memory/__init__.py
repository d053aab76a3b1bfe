"""A store and an index in memory, for tests and small collections."""
