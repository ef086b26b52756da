"""One feature of the language server a file."""
