"""Proofs about protocols: what they compute, who can compute it, what every coalition sees, what they cost.

`prove.prove_protocol` is the entry; everything here takes and gives data of `ir.protocol` and `report`.
"""
