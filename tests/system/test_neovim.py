"""A real, headless Neovim with the configuration of our docs: it opens a bad plan, reads the findings and applies a fix."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.system
ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "editors" / "neovim.md"
PLAN = """pllm 1

import std.formats [f32, act8, weight8]
import std.methods [integer_linear]

# Letters of other widths before the place: é \U0001f600
plan gated {
  input h: f32[1, 896] from client where abs(h) <= 12
  weight w: weight8[896, 896] public
  x, s = quantize(h, to: act8) @ client
  a = linear(x, w) using integer_linear(bits: 16)
  output a to client
}
"""
STORY = """
local function said(what) return vim.fn.json_encode(what) end
local function found(wanted)
  local seen = vim.wait(60000, function() return (#vim.diagnostic.get(0) > 0) == wanted end, 20)
  if not seen then error("no answer: " .. said(vim.diagnostic.get(0))) end
  return vim.diagnostic.get(0)
end
local ok, problem = pcall(function()
  vim.cmd("edit " .. vim.env.PLAN)
  local before = found(true)
  local places = {}
  for _, one in ipairs(before) do
    local line = vim.api.nvim_buf_get_lines(0, one.lnum, one.lnum + 1, true)[1]
    table.insert(places, { one.code or one.user_data.lsp.code, line:sub(one.col + 1, one.end_col) })
  end
  local place = { line = before[1].lnum, character = before[1].col }
  local params = {
    textDocument = vim.lsp.util.make_text_document_params(),
    range = { start = place, ["end"] = place },
    context = { diagnostics = {} },
  }
  local actions, titles = {}, {}
  for _, answer in pairs(vim.lsp.buf_request_sync(0, "textDocument/codeAction", params, 60000)) do
    for _, action in ipairs(answer.result or {}) do
      table.insert(actions, action)
      table.insert(titles, action.title)
    end
  end
  for _, action in ipairs(actions) do
    if action.title:find("ring") then
      vim.lsp.util.apply_workspace_edit(action.edit, vim.env.ENCODING)
      break
    end
  end
  found(false)
  local text = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), "\\n")
  vim.fn.writefile({ said({ places = places, titles = titles, text = text }) }, vim.env.SAID)
end)
if not ok then vim.fn.writefile({ said({ problem = tostring(problem) }) }, vim.env.SAID) end
vim.cmd("qall!")
"""


def test_findings_are_shown_and_a_code_action_ends_them(tmp_path: Path) -> None:
    (configuration,) = re.findall(r"^```lua\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    (tmp_path / "init.lua").write_text(configuration)
    (tmp_path / "story.lua").write_text(STORY)
    plan, said = tmp_path / "plan.pllm", tmp_path / "said.json"
    plan.write_text(PLAN, encoding="utf-8")
    folder = str(Path(sys.executable).parent)
    environment = os.environ | {
        "PATH": f"{folder}:{os.environ['PATH']}",
        "PLAN": str(plan),
        "SAID": str(said),
        "ENCODING": "utf-16",
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "XDG_DATA_HOME": str(tmp_path / "data"),
    }
    command = [
        "nvim",
        "--headless",
        "--clean",
        "-u",
        str(tmp_path / "init.lua"),
        "-S",
        str(tmp_path / "story.lua"),
    ]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, timeout=200, cwd=tmp_path
    )
    assert said.exists(), done.stderr
    told = json.loads(said.read_text(encoding="utf-8"))
    assert "problem" not in told, told
    assert ["bounds.carrier", "a"] in told["places"]
    assert len(told["places"]) == len({tuple(place) for place in told["places"]})
    assert any("ring" in title for title in told["titles"])
    assert told["text"] == PLAN.replace("bits: 16", "bits: 32").rstrip("\n")
