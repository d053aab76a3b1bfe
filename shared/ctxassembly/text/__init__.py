"""Words, sentences and dates in any language: nothing here knows what a chunk is."""
