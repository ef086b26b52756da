"""stub"""
from __future__ import annotations
from typing import Any
def counted_leak(*a: Any): return None
