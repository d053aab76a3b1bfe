"""Public fakes: users test their chains with them, without a database."""
