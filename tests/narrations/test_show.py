"""`pllm show --stage roles|views` and `pllm cost`: figures counted by hand from the sizes of the plan."""

from pathlib import Path

from click.testing import CliRunner

from pllm_lang.cli.app import app

FIRST_LOOK = Path(__file__).parent.parent.parent / "examples" / "first_look.pllm"


def run(*args: str) -> str:
    result = CliRunner().invoke(app, [*args], standalone_mode=False)
    assert result.exception is None
    return result.output


def test_roles_are_the_programs_of_the_parties() -> None:
    text = run("show", f"{FIRST_LOOK}:gated_mlp", "--stage", "roles")
    client, preparation = text.index("\n  client\n"), text.index("\n  preparation\n")
    assert "online: u = x'2 - r" in text[client:preparation]
    assert "offline: c = matmul(r, transpose(w_gate'2)) - s" in text[preparation:]
    assert "offline: send c to inference" in text[preparation:]
    assert "offline: get c from preparation" in text[preparation:]


def test_views_say_how_every_message_is_explained() -> None:
    text = run("show", f"{FIRST_LOOK}:gated_mlp", "--stage", "views")
    assert "  inference: proved, every protocol by its own proof" in text
    assert "binary_table as inference, 1 time: proved\n      masked looks uniform" in text
    assert "client:" not in text


def test_cost_of_an_experiment_counts_its_budget() -> None:
    """Ten requests; u goes to inference with 896 + 896 + 4864 residues of 4 bytes, v comes back with 4864 + 4864 + 896,
    and the table's 4864 results of 2 bytes."""
    text = run("cost", f"{FIRST_LOOK}:ten_tokens")
    assert f"online client -> inference: 30 messages, {10 * 4 * (896 + 896 + 4864)} bytes" in text
    assert (
        f"online inference -> client: 40 messages, {10 * (4 * (4864 + 4864 + 896) + 2 * 4864)} bytes" in text
    )
    assert f"offline preparation -> inference: 30 messages, {10 * 4 * (4864 + 4864 + 896)} bytes" in text
    assert "burns 30 of masked_linear.correction, one each row" in text
    assert "burns 48640 of binary_table.table, one each entry" in text


def test_a_plan_without_parties_has_no_cost(tmp_path: Path) -> None:
    path = tmp_path / "free.pllm"
    path.write_text("pllm 1\n\nimport std.formats [int8]\n\nplan free {\n  input x: int8[2]\n  output x\n}\n")
    result = CliRunner().invoke(app, ["cost", str(path)], standalone_mode=False)
    assert result.return_value == 2
    assert "under no policy" in result.output
