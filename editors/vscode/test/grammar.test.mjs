import assert from "node:assert/strict";
import { before, test } from "node:test";
import { loadGrammar, scopes } from "./grammar.mjs";

let grammar;
before(async () => (grammar = await loadGrammar()));

/** `wanted`: the words of the line that matter, each with its scope, in their order. */
function shows(line, wanted) {
  test(line.trim(), () => {
    const tokens = scopes(grammar, line)[0];
    for (const [text, scope] of wanted) {
      const index = tokens.findIndex((token) => token.text.trim() === text);
      assert.notEqual(index, -1, `no token ${text} in ${JSON.stringify(tokens.map((token) => token.text))}`);
      assert.equal(tokens[index].scope, scope, text);
      tokens.splice(0, index + 1);
    }
  });
}

shows("pllm 1", [["pllm", "keyword.other.edition"], ["1", "constant.numeric"]]);
shows("import std.formats [f32, act8]", [["import", "keyword.control.import"], ["std.formats", "entity.name.namespace"]]);
shows("plan decoder under two_servers {", [
  ["plan", "storage.type"], ["decoder", "entity.name.type"], ["under", "keyword.other.clause"],
]);
shows("  input x: act8[16, 64] from client where abs(x) <= 8  # a note", [
  ["input", "keyword.control"], ["x:", "variable.other.property"], ["16", "constant.numeric"], ["from", "keyword.other.clause"],
  ["where", "keyword.other.clause"], ["abs", "entity.name.function"], ["<=", "keyword.operator"], ["8", "constant.numeric"],
  ["# a note", "comment.line.number-sign"],
]);
shows("  weight w: weight8[4, 4] secret from [client]", [
  ["weight", "keyword.control"], ["secret", "keyword.other.clause"], ["from", "keyword.other.clause"],
]);
shows("  weight w: weight8[4, 4] public", [["public", "keyword.other.clause"]]);
shows("  y = linear(x, w) using masked_linear(bits: 32) @ client", [
  ["=", "keyword.operator"], ["linear", "entity.name.function"], ["using", "keyword.other.clause"],
  ["masked_linear", "entity.name.function"], ["bits:", "variable.other.property"], ["@", "keyword.operator.party"],
  ["client", "variable.language.party"],
]);
shows("  input = add(state, weight)", [["=", "keyword.operator"], ["add", "entity.name.function"]]);
shows("  repeat layer in 0..<80 carrying [h] {", [
  ["repeat", "keyword.control"], ["layer", "variable.parameter"], ["in", "keyword.control"], ["..<", "keyword.operator"],
  ["carrying", "keyword.other.clause"],
]);
shows("  memory: 24GiB", [["memory:", "variable.other.property"], ["24GiB", "constant.numeric"]]);
shows("  adversary semi_honest corrupts 1 of [p0, p1]", [
  ["adversary", "keyword.control"], ["corrupts", "keyword.other.clause"], ["of", "keyword.other.clause"],
]);
shows('  requires a > 0 and not b else "no # comment"', [
  ["requires", "keyword.control"], ["and", "keyword.operator.word"], ["not", "keyword.operator.word"], ["else", "keyword.other.clause"],
]);
shows('  id: "a \\" b" # c', [["id:", "variable.other.property"], ['\\"', "constant.character.escape"], ["# c", "comment.line.number-sign"]]);
shows("## What it is for", [["## What it is for", "comment.line.documentation"]]);
shows("#! bounds.overflow", [["#! bounds.overflow", "comment.line.number-sign.expectation"]]);
shows("  kind: method", [["kind:", "variable.other.property"]]);

test("a string that is not closed ends with its line", () => {
  const [, second] = scopes(grammar, 'a: "open\nplan p {');
  assert.equal(second[0].scope, "storage.type");
});
