"""How it reads, what that costs, and whose it is."""
