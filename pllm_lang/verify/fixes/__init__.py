"""Changes of the text that would end a finding: proposed from the finding and the syntax, then tried before they are offered.

Each module here is one kind of fix. It holds `CODES` (codes or families of findings that it knows; empty: all) and
`propose(around) -> Iterator[Fix]`. Proposals may be wrong: `trial.tried` applies each to the text, checks again, and keeps
those whose finding is gone while no error was added. No fix loosens a policy, claims an assurance or states a range that
nobody gave: what must be known is not guessed.
"""
