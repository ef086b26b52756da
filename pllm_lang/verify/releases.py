"""Versions compared as versions."""

from __future__ import annotations

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version


def in_versions(version: str, wanted: str) -> bool:
    """Whether `version` is in the set that `wanted` (`<1.2`, `>=1,<2`) names; what cannot be read counts as in it."""
    try:
        return SpecifierSet(wanted).contains(Version(version), prereleases=True)
    except (InvalidSpecifier, InvalidVersion):
        return True


def admits(version: str, wanted: str) -> bool | None:
    """Whether `wanted` admits `version`; None where one of them cannot be read."""
    try:
        return SpecifierSet(wanted).contains(Version(version), prereleases=True)
    except (InvalidSpecifier, InvalidVersion):
        return None
