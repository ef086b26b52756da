"""From syntax to records: one file a kind of declaration."""
