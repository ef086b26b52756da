"""The recorded cases are all there, and the ways to write them differently really do so."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.interchange.cases import load, params, permuted
from tests.interchange.mutations import mutated_requests
from tests.interchange.renaming import names_in, renamed_request
from tests.interchange.requests import changed, fixture

COUNTS = {
    "model_valid": 71,
    "model_invalid": 168,
    "kv_components": 47,
    "compile_requests": 161,
    "experiments": 87,
}


@pytest.mark.parametrize("name", COUNTS)
def test_no_case_is_lost(name: str) -> None:
    assert len({case["id"] for case in load(name)}) == len(params(name)) == COUNTS[name]


def test_permuting_changes_the_order_only() -> None:
    request = fixture()
    assert permuted(request) == request
    assert json.dumps(permuted(request)) != json.dumps(request)


def test_renaming_keeps_order_and_length() -> None:
    request = fixture()
    other, rename = renamed_request(request)
    names: list[Any] = list(names_in(request))
    assert list(names_in(other)) == [rename(name) for name in names]
    assert sorted(names, key=rename) == sorted(names)
    assert all(len(rename(name)) == len(name) and rename(name) != name for name in names)
    assert (
        rename("masked-product@1/matrix-wrap32@1")
        == f"{rename('masked-product')}@1/{rename('matrix-wrap32')}@1"
    )


def test_the_fixture_is_bound_by_digests_computed_here() -> None:
    assert changed() == fixture()


def test_mutations_repeat() -> None:
    assert mutated_requests(1, 20) == mutated_requests(1, 20) != mutated_requests(2, 20)
