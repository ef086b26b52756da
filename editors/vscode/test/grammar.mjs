// The TextMate grammar as VS Code runs it: text in, one list of [text, innermost scope] a line out.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import oniguruma from "vscode-oniguruma";
import textmate from "vscode-textmate";

const require = createRequire(import.meta.url);
const file = new URL("../syntaxes/pllm.tmLanguage.json", import.meta.url);

export async function loadGrammar() {
  const wasm = readFileSync(require.resolve("vscode-oniguruma/release/onig.wasm"));
  await oniguruma.loadWASM(wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.byteLength));
  const registry = new textmate.Registry({
    onigLib: Promise.resolve({
      createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
      createOnigString: (text) => new oniguruma.OnigString(text),
    }),
    loadGrammar: async () => textmate.parseRawGrammar(readFileSync(file, "utf8"), file.pathname),
  });
  return registry.loadGrammar("source.pllm");
}

export function scopes(grammar, text) {
  let stack = textmate.INITIAL;
  return text.split("\n").map((line) => {
    const read = grammar.tokenizeLine(line, stack);
    stack = read.ruleStack;
    return read.tokens.map((token) => ({
      start: token.startIndex,
      end: token.endIndex,
      text: line.slice(token.startIndex, token.endIndex),
      scope: token.scopes.at(-1).replace(/\.pllm$/, ""),
    }));
  });
}
