"""The settings of an assembly, and what is said of wrong ones."""
