"""The settings of an assembly, and the errors for wrong ones."""
