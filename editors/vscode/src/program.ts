// Which program answers as the language server.
// In: settings, whether the workspace is trusted, its folders, the environment. Out: a path and arguments, or undefined.
// Pure but for the question whether a file can be executed, so that it is tested without an editor.

import * as path from "node:path";

export interface Surroundings {
  /** `pllm.path` as the user set it; "" where it is not set. */
  readonly configured: string;
  readonly args: readonly string[];
  readonly trusted: boolean;
  /** Absolute paths of the workspace's folders. */
  readonly folders: readonly string[];
  /** The value of the environment's PATH. */
  readonly searchPath: string;
  readonly platform: NodeJS.Platform;
  readonly canRun: (file: string) => boolean;
}

export interface Program {
  readonly command: string;
  readonly args: readonly string[];
}

/** `pllm-lang` comes first: another tool on the same machine may be called `pllm`. */
const NAMES = ["pllm-lang", "pllm"];

export function findProgram(around: Surroundings): Program | undefined {
  const command = around.configured === "" ? discovered(around) : resolved(around);
  return command === undefined ? undefined : { command, args: around.args };
}

function resolved({ configured, folders }: Surroundings): string {
  const folder = folders[0];
  const isName = !configured.includes("/") && !configured.includes("\\");
  return isName || folder === undefined ? configured : path.resolve(folder, configured);
}

/** A program inside a workspace is started only where the user trusts that workspace. */
function discovered(around: Surroundings): string | undefined {
  const inside = around.trusted ? around.folders.map((folder) => path.join(folder, ".venv", binFolder(around))) : [];
  const onPath = around.searchPath.split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  const suffix = around.platform === "win32" ? ".exe" : "";
  for (const folder of [...inside, ...onPath]) {
    const found = NAMES.map((name) => path.join(folder, name + suffix)).find(around.canRun);
    if (found !== undefined) return found;
  }
  return undefined;
}

function binFolder({ platform }: Surroundings): string {
  return platform === "win32" ? "Scripts" : "bin";
}
