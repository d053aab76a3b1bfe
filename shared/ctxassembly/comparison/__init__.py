"""Several configurations side by side, over the same hits."""
