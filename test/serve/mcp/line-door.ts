import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { initialize } from "./http/messages.ts";
import { rawServer } from "../../sources/mcp/servers.ts";

export const INITIALIZE = initialize();

/** A call of `run_program`. */
export const programCall = (code: string) => ({
  method: "tools/call",
  params: { name: "run_program", arguments: { code } },
});

export type LineDoor = ReturnType<typeof openLineDoor>;

interface Answer {
  readonly id?: number;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly code: number; readonly message: string };
}

/** A door on the standard streams of a process, spoken to in lines. */
export function openLineDoor(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "pipe"], env: { ...process.env, ...env } });
  child.stdin.on("error", () => {});
  const ended = once(child, "close") as Promise<[number | null, NodeJS.Signals | null]>;
  const stderr = text(child.stderr);
  let stdout = "";
  const waiting: (() => void)[] = [];
  child.stdout.on("data", (chunk: Buffer) => {
    stdout += String(chunk);
    for (const wake of waiting.splice(0)) wake();
  });
  let id = 0;
  const answerOf = async (wanted: number): Promise<Answer> => {
    for (;;) {
      const lines = stdout.split("\n").slice(0, -1);
      const found = lines.map((line) => JSON.parse(line) as Answer).find((message) => message.id === wanted);
      if (found) return found;
      await Promise.race([new Promise<void>((resolve) => waiting.push(resolve)), ended]);
      if (child.exitCode !== null) throw new Error(`The door has ended: ${await stderr}`);
    }
  };
  const write = (message: string) => child.stdin.write(`${message}\n`);
  const send = (message: object): Promise<Answer> => {
    id += 1;
    write(JSON.stringify({ jsonrpc: "2.0", id, ...message }));
    return answerOf(id);
  };
  return { child, ended, send, write, stdout: () => stdout, stderr };
}

/** Writes a file of MCP servers with one of `rawServer`, which notes `mark` among its arguments. */
export function configWith(folder: string, mode: string, mark = join(folder, mode)) {
  const config = join(folder, `${mode}.json`);
  const { command, args } = rawServer(mode, mark);
  const policy = { allowedCallers: ["programmatic"], effect: "read" };
  writeFileSync(config, JSON.stringify({ mcpServers: { raw: { command, args, portcullis: policy } } }));
  return { config, mark };
}
