"""The search that a chain makes: its filter and its scores."""
