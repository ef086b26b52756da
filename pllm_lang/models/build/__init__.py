"""From a decoder's architecture to its graph: one file for each part of a layer."""
