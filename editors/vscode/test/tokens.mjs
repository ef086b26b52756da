// Standard input: a JSON list of texts. Standard output: for each, the tokens of each line with their innermost scope.
import { readFileSync } from "node:fs";
import { loadGrammar, scopes } from "./grammar.mjs";

const grammar = await loadGrammar();
const texts = JSON.parse(readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(texts.map((text) => scopes(grammar, text).map((line) => line.map((t) => [t.start, t.end, t.scope])))));
