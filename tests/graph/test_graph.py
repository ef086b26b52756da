"""`pllm graph`: every plan that we have can be drawn; texts lie within the picture and in bands of their own; nothing gets out of a
string."""

import itertools
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pllm_lang.artifacts.graph import MAX_ROWS, Graph, Row, graph_of
from pllm_lang.artifacts.graph_dot import dot
from pllm_lang.artifacts.graph_svg import CHAR, FONT, SMALL, WIDTH, svg
from pllm_lang.cli.checking import check_files
from pllm_lang.text.visible import width
from tests.cli.process import pllm
from tests.corpus_harness import CORPUS, checked, corpus_files

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.pllm"))
SVG = "{http://www.w3.org/2000/svg}"


def graphs(path: Path) -> list[Graph]:
    found = checked(path)
    return [graph_of(report, found.opened.library) for report in found.reports]


def judge_svg(graph: Graph) -> None:
    root = ET.fromstring(svg(graph))
    assert root.get("width") == str(WIDTH)
    assert root.get("role") == "img"
    assert root.find(f"{SVG}title") is not None
    assert root.find(f"{SVG}desc") is not None
    bands: list[tuple[float, float]] = []
    for group in root.iter(f"{SVG}g"):
        offset = float(re.fullmatch(r"translate\(0 (\d+)\)", group.get("transform", ""))[1])  # type: ignore[index]
        lines = [(float(text.get("y", "")), text) for text in group.iter(f"{SVG}text")]
        for y, text in lines:
            size = SMALL if text.get("class") in ("small", "sent") else FONT
            x, wide = float(text.get("x", "")), width(text.text or "") * CHAR * size
            assert x >= 0
            assert x + wide <= WIDTH + 1
            bands.append((offset + y - size, offset + y + 4))
    bands.sort()
    assert all(below[0] >= above[1] - 2 for above, below in itertools.pairwise(bands))
    height = float(root.get("height", ""))
    assert not bands or bands[-1][1] <= height


@pytest.mark.parametrize("path", [*EXAMPLES, *corpus_files()], ids=lambda path: str(path.relative_to(ROOT)))
def test_every_plan_can_be_drawn(path: Path) -> None:
    for graph in graphs(path):
        judge_svg(graph)
        judge_dot(dot(graph), graph)


def judge_dot(text: str, graph: Graph) -> None:
    """Strings are closed, braces balance outside of them, and every node that an edge names is declared."""
    bare = re.sub(r'"(?:[^"\\]|\\.)*"', "S", text)
    assert '"' not in bare
    assert bare.count("{") == bare.count("}") == 1 + bare.count("subgraph")
    declared = set(re.findall(r"^\s*(\w+) \[", bare, re.MULTILINE))
    used = {name for pair in re.findall(r"(\w+) -> (\w+)", bare) for name in pair}
    assert used <= declared
    assert len(re.findall(r"^\s*lane\d+ \[", bare, re.MULTILINE)) == len(graph.lanes)


def test_messages_are_those_of_the_narration() -> None:
    (graph,) = graphs(ROOT / "examples" / "beaver_block.pllm")
    sent = [(row.text, row.lanes, row.detail) for row in graph.rows if row.kind == "message"]
    assert sent[0] == ("xs.p0", ("client", "p0"), "online")
    assert ("c1", ("dealer", "p1"), "offline") in sent
    assert {("d0", ("p0", "p1"), "online"), ("d1", ("p1", "p0"), "online")} <= set(sent)
    assert graph.lanes == ("client", "owner", "p0", "p1", "dealer")
    assert not graph.refused


def test_a_repeat_is_folded() -> None:
    path = CORPUS / "bounds" / "overflow" / "every_layer_once.pllm"
    (graph,) = graphs(path)
    kinds = [row.kind for row in graph.rows]
    assert kinds.count("repeat") == kinds.count("end") >= 1
    assert len(graph.rows) < 30
    assert graph.refused


words = st.text(max_size=40) | st.sampled_from(
    ['"', "\\", '\\"', "a\nb", "</text>", "]]>", "&amp;", "x" * 500, "宽" * 200]
)
lanes = st.lists(words, unique=True, max_size=8)


@st.composite
def any_graph(draw: st.DrawFn) -> Graph:
    parties = draw(lanes)
    some = st.lists(st.sampled_from(parties), unique=True, max_size=4).map(tuple) if parties else st.just(())
    plain = st.builds(Row, st.sampled_from(["value", "step", "note", "output"]), words, some, words)
    rows = draw(st.lists(plain, max_size=6))
    if len(parties) > 1:
        pair = st.lists(st.sampled_from(parties), unique=True, min_size=2, max_size=3).map(tuple)
        rows += draw(
            st.lists(
                st.builds(Row, st.just("message"), words, pair, st.sampled_from(["offline", "online"])),
                max_size=4,
            )
        )
    if draw(st.booleans()):
        rows = [Row("repeat", draw(words)), *rows, Row("end", "")]
    return Graph(draw(words), draw(words), tuple(parties), tuple(rows), 0, 0, draw(st.booleans()))


@given(any_graph())
def test_no_text_breaks_a_picture(graph: Graph) -> None:
    judge_svg(graph)
    judge_dot(dot(graph), graph)


def test_a_very_long_plan_is_cut_and_counted() -> None:
    steps = "".join(f"  x{k} = neg(x{k - 1}) @ client\n" for k in range(1, MAX_ROWS + 50))
    head = "pllm 1\n\nimport std.formats [int16]\n\nplan p {\n  input x0: int16[2] from client where abs(x0) <= 9\n"
    text = f"{head}{steps}  output x{MAX_ROWS + 49} to client\n}}\n"
    path = Path(f"{MAX_ROWS}.pllm")
    found = check_files([str(path)], ".", {str(path): text})
    graph = graph_of(found.reports[0], found.opened.library)
    assert graph.rows[-1].text == "and 51 more rows"
    judge_svg(graph)


def test_the_command(tmp_path: Path) -> None:
    example = str(ROOT / "examples" / "moe_layer.pllm")
    assert pllm(tmp_path, "graph", example).returncode == 2, "one of two plans has to be named"
    done = pllm(tmp_path, "graph", f"{example}:dense_experts", "-o", "plan.svg")
    assert (done.returncode, done.stdout) == (0, "")
    drawn = (tmp_path / "plan.svg").read_text()
    assert drawn == pllm(tmp_path, "graph", f"{example}:dense_experts").stdout
    assert ET.fromstring(drawn).tag == f"{SVG}svg"
    assert pllm(tmp_path, "graph", f"{example}:dense_experts", "--format", "dot").stdout.startswith(
        "digraph "
    )
    assert pllm(tmp_path, "graph", "absent.pllm").returncode == 2
    assert pllm(tmp_path, "graph", f"{example}:dense_experts", "-o", "no/such/folder.svg").returncode == 2


def test_a_refused_plan_is_drawn_and_said_to_be_refused(tmp_path: Path) -> None:
    refused = str(ROOT / "examples" / "refused" / "gated_mlp_16_bits.pllm")
    name = checked(Path(refused)).reports[0].name
    done = pllm(tmp_path, "graph", f"{refused}:{name}")
    assert "REFUSED" in done.stdout
    assert "refused" in done.stderr
