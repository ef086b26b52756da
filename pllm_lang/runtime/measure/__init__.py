"""Facts of a checkpoint: exact bounds of its weights, and ranges seen on data. Needs numpy."""
