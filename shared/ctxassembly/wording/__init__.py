"""Every word, label and tag of our own: written here, asked of models, guarded in documents and found in answers."""
