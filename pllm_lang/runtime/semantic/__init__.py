"""A plain numpy reference of the semantic graph, to compare its meaning with other implementations."""
