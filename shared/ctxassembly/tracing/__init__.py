"""The trace in the making: forms and copies of candidates, notes, decisions, and the log."""
