"""Bad checkpoints and bad data: each has its code, in bounded time and without a traceback."""

from __future__ import annotations

import json
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from pllm_lang.cli.commands.measure import command
from pllm_lang.runtime.checkpoint.header import MAX_HEADER_BYTES
from pllm_lang.runtime.measure import calibrate
from tests.measure.checkpoints import save, save_raw

F32 = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
ONES = np.ones((2, 3), np.float32)


def entry(**changed: Any) -> dict[str, Any]:
    return {"w": F32 | changed}


def raw(header: Any, data: bytes = b"\0" * 8, length: int | None = None) -> Callable[[Path], Path]:
    return lambda folder: save_raw(folder / "m.safetensors", header, data, length)


def arrays(**tensors: np.ndarray) -> Callable[[Path], Path]:
    return lambda folder: save(folder / "m.safetensors", tensors)


def index(*names: Any, text: str = "") -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        save(folder / "a.safetensors", {"w": ONES})
        save(folder.parent / "secret.safetensors", {"w": ONES})
        map_ = {f"w{i}": name for i, name in enumerate(names)}
        (folder / "model.safetensors.index.json").write_text(text or json.dumps({"weight_map": map_}))
        return folder

    return make


def pickled(folder: Path) -> Path:
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(ONES))
    return folder


def twice(folder: Path) -> Path:
    save(folder / "a.safetensors", {"w": ONES})
    save(folder / "b.safetensors", {"w": ONES})
    return folder


def with_config(config: Any, **tensors: np.ndarray) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        save(folder / "m.safetensors", tensors or {"w": ONES})
        (folder / "config.json").write_text(json.dumps(config))
        return folder

    return make


LLAMA = {
    "model_type": "llama", "hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 1, "vocab_size": 10,
    "num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": 32, "rms_norm_eps": 1e-6,
    "rope_theta": 10000.0, "hidden_act": "silu", "tie_word_embeddings": False,
}  # fmt: skip

BAD: dict[str, tuple[str, Callable[[Path], Path]]] = {
    "empty file": ("checkpoint.truncated", lambda f: _written(f, b"")),
    "seven bytes": ("checkpoint.truncated", lambda f: _written(f, b"\0" * 7)),
    "header longer than the file": ("checkpoint.truncated", raw(entry(), length=10_000)),
    "header cut off": ("checkpoint.truncated", raw(b'{"w": ', b"", length=40)),
    "header of 2^63 bytes": ("checkpoint.header_size", raw(entry(), length=2**63)),
    "header beyond the limit": ("checkpoint.header_size", raw(entry(), length=MAX_HEADER_BYTES + 1)),
    "header no JSON": ("checkpoint.header", raw(b"{not json}")),
    "header not UTF-8": ("checkpoint.header", raw(b'{"\xff": 1}')),
    "header nested deep": ("checkpoint.header", raw(b"[" * 200_000)),
    "header a list": ("checkpoint.header", raw(b"[]")),
    "a name twice": ("checkpoint.header", raw(json.dumps(entry())[:-1].encode() + b"," + json.dumps(entry())[1:].encode())),
    "entry a number": ("checkpoint.header", raw({"w": 3})),
    "no type": ("checkpoint.dtype", raw(entry(dtype=None))),
    "8-bit floats": ("checkpoint.dtype", raw(entry(dtype="F8_E4M3", shape=[8]))),
    "unknown type": ("checkpoint.dtype", raw(entry(dtype="\x1b[31mF32"))),
    "negative size": ("checkpoint.header", raw(entry(shape=[-2]))),
    "size a boolean": ("checkpoint.header", raw(entry(shape=[True, 2]))),
    "size a float": ("checkpoint.header", raw(entry(shape=[2.0]))),
    "product of sizes huge": ("checkpoint.header", raw(entry(shape=[2**50, 2**50, 2**50]))),
    "too many axes": ("checkpoint.header", raw(entry(shape=[1] * 9))),
    "no offsets": ("checkpoint.header", raw({"w": {"dtype": "F32", "shape": [2]}})),
    "three offsets": ("checkpoint.header", raw(entry(data_offsets=[0, 8, 9]))),
    "offsets reversed": ("checkpoint.layout", raw(entry(data_offsets=[8, 0]))),
    "too few bytes for the shape": ("checkpoint.layout", raw(entry(shape=[3]))),
    "data cut off": ("checkpoint.truncated", raw(entry(), b"\0" * 7)),
    "data left over": ("checkpoint.layout", raw(entry(), b"\0" * 9)),
    "overlap": ("checkpoint.layout", raw({"v": F32, "w": F32})),
    "hole": ("checkpoint.layout", raw({"v": F32, "w": F32 | {"data_offsets": [9, 17]}}, b"\0" * 17)),
    "NaN": ("checkpoint.not_finite", arrays(w=np.array([[1, np.nan]], np.float32))),
    "infinity": ("checkpoint.not_finite", arrays(w=np.array([[1, -np.inf]], np.float16))),
    "integers beyond 2^53": ("checkpoint.dtype", arrays(w=np.array([[2**53 + 1]], np.int64))),
    "sums beyond double precision": ("checkpoint.too_large", arrays(w=np.full((1, 2), 1e300))),
    "not safetensors": ("checkpoint.header_size", lambda f: _written(f, b"PK\x03\x04" + b"\xff" * 100)),
    "pickle": ("checkpoint.pickled", lambda f: pickled(f) / "pytorch_model.bin"),
    "folder of pickles": ("checkpoint.pickled", pickled),
    "empty folder": ("checkpoint.missing", lambda f: f),
    "a tensor in two files": ("checkpoint.twice", twice),
    "index out of its folder": ("checkpoint.outside", index("../secret.safetensors")),
    "index to an absolute path": ("checkpoint.outside", index("/etc/x.safetensors")),
    "index with backslashes": ("checkpoint.outside", index("..\\secret.safetensors")),
    "index with a zero byte": ("checkpoint.outside", index("a\0.safetensors")),
    "index to another kind of file": ("checkpoint.index", index("/etc/passwd")),
    "index to a number": ("checkpoint.index", index(7)),
    "index no JSON": ("checkpoint.index", index(text="{")),
    "index nested deep": ("checkpoint.index", index(text="[" * 200_000)),
    "index without a map": ("checkpoint.index", index()),
    "index to a file that is not there": ("checkpoint.unreadable", index("b.safetensors")),
    "config of another model": ("checkpoint.missing_tensor", with_config(LLAMA)),
    "config with other sizes": (
        "checkpoint.shape",
        with_config(LLAMA, **{"model.embed_tokens.weight": np.ones((11, 8), np.float32)}),
    ),
    "config unknown": ("config.encoder", with_config({"model_type": "bert"})),
    "config no JSON": ("config.not_an_object", with_config(float("nan"))),
}  # fmt: skip


def _written(folder: Path, data: bytes) -> Path:
    path = folder / "m.safetensors"
    path.write_bytes(data)
    return path


def refused(*arguments: str) -> str:
    start = process_time()
    result = CliRunner().invoke(command, list(arguments), standalone_mode=False)
    assert process_time() - start < 2
    assert result.exception is None, result.exception
    assert result.return_value == 1
    assert result.stdout == ""
    assert "\x1b" not in result.stderr
    assert "\0" not in result.stderr
    return result.stderr


@pytest.mark.parametrize("case", BAD)
def test_a_bad_checkpoint_is_refused_by_name(tmp_path: Path, case: str) -> None:
    code, make = BAD[case]
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    assert refused(str(make(folder))).startswith(f"error[{code}"), case


def test_quantising_refuses_rows_without_a_scale(tmp_path: Path) -> None:
    path = save(tmp_path / "m.safetensors", {"w": np.array([[1e-45, 0]], np.float32)})
    assert "checkpoint.quantized" in refused(str(path), "--quantize", "8")


def test_integers_are_not_quantised_again(tmp_path: Path) -> None:
    path = save(tmp_path / "m.safetensors", {"w": np.array([[100, -5]], np.int8)})
    assert "checkpoint.quantized" in refused(str(path), "--quantize", "4")


def data(**found: Any) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        np.savez(folder / "d.npz", **found)
        return folder / "d.npz"

    return make


BAD_DATA: dict[str, tuple[str, Callable[[Path], Path]]] = {
    "missing": ("calibration.missing", lambda f: f / "none.npz"),
    "no arrays": ("calibration.empty", data()),
    "pickles": ("calibration.unreadable", data(h=np.array([{}], dtype=object))),
    "text": ("calibration.unreadable", data(h=np.array(["x"]))),
    "no zip": ("calibration.unreadable", lambda f: _written(f, b"xx").rename(f / "d.npz")),
    "not finite": ("checkpoint.not_finite", data(h=np.array([np.nan]))),
    "name of a weight": ("calibration.name", data(w=np.ones(2))),
    "token ids without a config": ("calibration.config", data(tokens=np.ones((1, 2), int))),
    "sums beyond double precision": ("calibration.range", data(h=np.full((1, 2), 1e300))),
}


@pytest.mark.parametrize("case", BAD_DATA)
def test_bad_data_is_refused_by_name(tmp_path: Path, case: str) -> None:
    code, make = BAD_DATA[case]
    checkpoint = save(tmp_path / "c.safetensors", {"w": ONES})
    assert refused(str(checkpoint), "--calibration", str(make(tmp_path))).startswith(f"error[{code}")


def test_data_that_unpacks_to_too_much_is_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint = save(tmp_path / "c.safetensors", {"w": ONES})
    np.savez_compressed(tmp_path / "d.npz", h=np.zeros(2**20))
    monkeypatch.setattr(calibrate, "MAX_DATA_BYTES", 2**20)
    monkeypatch.setattr(np, "load", None)
    assert "calibration.too_large" in refused(str(checkpoint), "--calibration", str(tmp_path / "d.npz"))


def test_an_array_that_claims_more_than_the_memory_is_refused(tmp_path: Path) -> None:
    """Its header alone says how large it is; the archive holds none of it."""
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776, 4096), }".ljust(117) + b"\n"
    with zipfile.ZipFile(tmp_path / "d.npz", "w") as archive:
        archive.writestr("h.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    checkpoint = save(tmp_path / "c.safetensors", {"w": ONES})
    assert "calibration.too_large" in refused(str(checkpoint), "--calibration", str(tmp_path / "d.npz"))


def test_what_a_file_is_called_moves_no_cursor(tmp_path: Path) -> None:
    folder = index("\x1b[2J\x07.safetensors")(tmp_path)
    assert "\u241b[2J\u2407.safetensors" in refused(str(folder))


def test_facts_that_check_would_not_read_are_not_written(tmp_path: Path) -> None:
    tensors = {f"model.layers.{i}.{'x' * 900}": np.ones(1, np.int8) for i in range(8_300)}
    assert "checkpoint.too_large" in refused(str(save(tmp_path / "m.safetensors", tensors)))


def test_what_is_not_there_is_a_wrong_call(tmp_path: Path) -> None:
    result = CliRunner().invoke(command, [str(tmp_path / "none")], standalone_mode=False)
    assert result.return_value == 2
    assert "no such file" in result.stderr


def test_every_code_stands_on_the_page() -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "measure.md").read_text()
    codes = {code for code, _ in (*BAD.values(), *BAD_DATA.values()) if not code.startswith("config.")}
    codes |= {"checkpoint.quantized", "calibration.too_large", "calibration.tokens", "checkpoint.config"}
    assert {code for code in codes if f"`{code}`" not in page} == set()
