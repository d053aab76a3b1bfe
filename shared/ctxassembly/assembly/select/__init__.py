"""Which units are read: the best ones within the limits, with what they need to be understood."""
