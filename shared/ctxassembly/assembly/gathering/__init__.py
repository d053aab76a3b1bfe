"""What may stand: hits admitted, neighbours asked for and let in."""
