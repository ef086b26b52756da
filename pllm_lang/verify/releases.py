"""Versions compared as versions.

`packaging` takes 30 ms to import and few plans ask, so it is loaded by the first question: the one import inside
a function outside the command line.
"""

from __future__ import annotations


def in_versions(version: str, wanted: str) -> bool:
    """Whether `version` is in the set that `wanted` (`<1.2`, `>=1,<2`) names; what cannot be read counts as in it."""
    return admits(version, wanted) is not False


def admits(version: str, wanted: str) -> bool | None:
    """Whether `wanted` admits `version`; None where one of them cannot be read."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet
    from packaging.version import InvalidVersion, Version

    try:
        return SpecifierSet(wanted).contains(Version(version), prereleases=True)
    except (InvalidSpecifier, InvalidVersion):
        return None


def compare_versions(first: str, second: str) -> int | None:
    """-1, 0 or 1 as `first` is older, the same or newer; None where one of them cannot be read."""
    from packaging.version import InvalidVersion, Version

    try:
        a, b = Version(first), Version(second)
    except InvalidVersion:
        return None
    return (a > b) - (a < b)
