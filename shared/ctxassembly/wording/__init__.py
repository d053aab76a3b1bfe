"""Every word, label and tag that is ours: written, asked for, guarded and found again."""
