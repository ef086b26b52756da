// The VS Code side of `pllm lsp`: it starts the server and shows what it says. All knowledge of the language is the server's.

import * as fs from "node:fs";
import * as vscode from "vscode";
import { LanguageClient, type Executable, type LanguageClientOptions, type ServerOptions } from "vscode-languageclient/node";
import { findProgram, type Program } from "./program";

const INSTALL_PAGE = "https://pypi.org/project/pllm-lang/";

let client: LanguageClient | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  context.subscriptions.push(
    vscode.commands.registerCommand("pllm.restart", restart),
    vscode.commands.registerCommand("pllm.checkFile", () => inTerminal("check")),
    vscode.commands.registerCommand("pllm.costFile", () => inTerminal("cost")),
    vscode.workspace.onDidChangeConfiguration((event) => (event.affectsConfiguration("pllm") ? restart() : undefined)),
    vscode.workspace.onDidGrantWorkspaceTrust(restart),
  );
  await start();
}

export async function deactivate(): Promise<void> {
  const running = client;
  client = undefined;
  await running?.dispose();
}

async function restart(): Promise<void> {
  await deactivate();
  await start();
}

async function start(): Promise<void> {
  const program = chosen();
  if (program === undefined) {
    await explainMissing();
    return;
  }
  client = new LanguageClient("pllm", "pllm-lang", launched(program), selected());
  try {
    await client.start();
  } catch (reason) {
    client = undefined;
    await explainFailed(program, reason);
  }
}

function chosen(): Program | undefined {
  const settings = vscode.workspace.getConfiguration("pllm");
  return findProgram({
    configured: settings.get<string>("path", "").trim(),
    args: settings.get<string[]>("args", ["lsp"]),
    trusted: vscode.workspace.isTrusted,
    folders: (vscode.workspace.workspaceFolders ?? []).map((folder) => folder.uri.fsPath),
    searchPath: process.env["PATH"] ?? "",
    platform: process.platform,
    canRun,
  });
}

function canRun(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

function launched(program: Program): ServerOptions {
  const cwd = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
  const run: Executable = { command: program.command, args: [...program.args], ...(cwd === undefined ? {} : { options: { cwd } }) };
  return { run, debug: run };
}

/** Files on disk and unsaved ones; the server also wants to know when an imported file or a config changes. */
function selected(): LanguageClientOptions {
  return {
    documentSelector: [
      { scheme: "file", language: "pllm" },
      { scheme: "untitled", language: "pllm" },
    ],
    synchronize: { fileEvents: vscode.workspace.createFileSystemWatcher("**/{*.pllm,*.json,pllm.toml,pyproject.toml}") },
  };
}

async function explainMissing(): Promise<void> {
  const choice = await vscode.window.showWarningMessage(
    'No "pllm-lang" was found. Install it with: pip install "pllm-lang[lsp]", or set "pllm.path".',
    "How to install",
    "Open the settings",
  );
  if (choice === "How to install") await vscode.env.openExternal(vscode.Uri.parse(INSTALL_PAGE));
  if (choice === "Open the settings") await vscode.commands.executeCommand("workbench.action.openSettings", "pllm.path");
}

async function explainFailed(program: Program, reason: unknown): Promise<void> {
  const message = reason instanceof Error ? reason.message : String(reason);
  await vscode.window.showErrorMessage(
    `The language server did not start (${[program.command, ...program.args].join(" ")}): ${message}. ` +
      'It needs the extra "lsp": pip install "pllm-lang[lsp]".',
  );
}

/** A process and its arguments, not a line for a shell: a file's name is never read as a command. */
async function inTerminal(command: string): Promise<void> {
  const document = vscode.window.activeTextEditor?.document;
  const program = chosen();
  if (document === undefined || document.isUntitled) return;
  if (program === undefined) return explainMissing();
  await document.save();
  const run = new vscode.ProcessExecution(program.command, [command, "--", document.uri.fsPath]);
  const task = new vscode.Task({ type: "process" }, vscode.TaskScope.Workspace, `pllm ${command}`, "pllm", run, []);
  task.presentationOptions = { reveal: vscode.TaskRevealKind.Always, panel: vscode.TaskPanelKind.Dedicated, clear: true };
  await vscode.tasks.executeTask(task);
}
