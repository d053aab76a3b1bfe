"""The chosen text as the model reads it: labels in order, headers, text that can't pass for ours."""
