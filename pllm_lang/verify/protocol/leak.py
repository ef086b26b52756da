"""stub"""
from __future__ import annotations
from typing import Any
def find_leak(*a: Any): return None
def refute_outputs(p: Any, c: Any): return c
