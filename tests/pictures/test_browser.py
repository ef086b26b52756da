"""The measuring itself: it finds what is wrong with a page, and nothing wrong with a plain one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pictures.browser import assert_readable, measured

pytestmark = pytest.mark.system
GOOD = "<!doctype html><html><body><p>one</p><p>two</p><p>three</p><p>four</p></body></html>"


def test_a_plain_page_is_readable(tmp_path: Path) -> None:
    assert_readable(GOOD, tmp_path)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ('<p style="font-size:10px">small</p>', "10.0px: small"),
        ('<p style="position:absolute;margin:0;left:8px;top:16px">over</p>', "overlap: "),
        ('<p style="position:absolute;left:1270px;white-space:nowrap">out of the page</p>', "outside: out"),
        ('<div style="width:20px;overflow:hidden;white-space:nowrap">clipped text</div>', "clipped: clipped text"),
        ('<p style="color:#ccc">pale</p>', "contrast "),
        ('<svg width="100" height="40"><text x="70" y="20">beyond its picture</text></svg>', "outside: beyond"),
        ('<svg width="100" viewBox="0 0 200 80"><text x="0" y="20" font-size="16">scaled</text></svg>', "8.0px: scaled"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_found(tmp_path: Path, change: str, told: str) -> None:
    found = measured(GOOD.replace("</body>", change + "</body>"), tmp_path)
    assert any(told in wrong for wrong in found["wrong"]), found
