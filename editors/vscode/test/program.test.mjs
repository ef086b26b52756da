import assert from "node:assert/strict";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { before, test } from "node:test";
import { build } from "esbuild";

let findProgram;
before(async () => {
  const outfile = path.join(mkdtempSync(path.join(tmpdir(), "pllm-")), "program.mjs");
  const entry = new URL("../src/program.ts", import.meta.url).pathname;
  await build({ entryPoints: [entry], bundle: true, platform: "node", format: "esm", outfile });
  ({ findProgram } = await import(pathToFileURL(outfile)));
});

const around = (changes) => ({
  configured: "", args: ["lsp"], trusted: true, folders: ["/plans"], searchPath: "/usr/bin:/usr/local/bin", platform: "linux",
  canRun: (file) => changes.programs?.includes(file) ?? false,
  ...changes,
});
const inside = "/plans/.venv/bin/pllm-lang";

test("the workspace's own environment comes before PATH", () => {
  const found = findProgram(around({ programs: [inside, "/usr/bin/pllm-lang"] }));
  assert.deepEqual(found, { command: inside, args: ["lsp"] });
});

test("a workspace that is not trusted starts nothing of its own", () => {
  assert.equal(findProgram(around({ programs: [inside], trusted: false })), undefined);
  assert.equal(findProgram(around({ programs: [inside, "/usr/bin/pllm"], trusted: false })).command, "/usr/bin/pllm");
});

test("pllm-lang is taken before pllm of the same folder", () => {
  assert.equal(findProgram(around({ programs: ["/usr/bin/pllm", "/usr/bin/pllm-lang"] })).command, "/usr/bin/pllm-lang");
});

test("a relative entry of PATH is not searched", () => {
  assert.equal(findProgram(around({ programs: ["bin/pllm-lang"], searchPath: "bin::." })), undefined);
});

test("the setting wins; a relative path starts at the first folder; a bare name is left to PATH", () => {
  assert.equal(findProgram(around({ configured: "tools/pllm-lang" })).command, "/plans/tools/pllm-lang");
  assert.equal(findProgram(around({ configured: "pllm-lang" })).command, "pllm-lang");
  assert.deepEqual(findProgram(around({ configured: "/a/b", args: ["lsp", "-v"] })).args, ["lsp", "-v"]);
});
