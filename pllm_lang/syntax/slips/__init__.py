"""Common slips, each recognised by a few lines of its own, with a message written for it."""
