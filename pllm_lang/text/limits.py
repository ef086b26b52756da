"""Every limit on what a text may be: what lies above is refused, in bounded time."""

# Bytes of one file. The largest text of the library is far below 100 kB; a plan of 10,000 lines has 600 kB.
MAX_FILE_BYTES = 2_000_000
# Words, numbers and signs of one file: what a file of the size above has, if it is not made to be slow.
MAX_TOKENS = 400_000
# Levels of syntax nodes inside each other (a chain `a + b + c` has one level a sign). What walks a tree may
# use some six frames a level below Python's recursion limit of 1,000.
MAX_DEPTH = 100
# Characters of one number or name, and of one string.
MAX_WORD_CHARACTERS = 1_000
MAX_STRING_CHARACTERS = 100_000
# Findings of one file's syntax; the rest is summed up in one.
MAX_SYNTAX_FINDINGS = 50
