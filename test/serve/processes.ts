import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { cli, tools } from "./mcp/doors.ts";

export interface ServerProcess extends AsyncDisposable {
  readonly url: string;
  readonly token: string;
  readonly child: ChildProcessByStdio<null, null, Readable>;
  /** What it has written to standard error so far. */
  readonly said: () => string;
  /** Sends a signal, and resolves with the exit code. */
  readonly end: (signal: NodeJS.Signals) => Promise<number | null>;
  readonly ask: (method: string, path: string, body?: unknown) => Promise<Response>;
}

/** `portcullis serve` in a process of its own. */
export async function openServerProcess(...args: readonly string[]): Promise<ServerProcess> {
  const child = spawn(
    process.execPath,
    ["--conditions=portcullis-source", cli, "serve", "--tools", tools, "--port", "0", ...args],
    { stdio: ["ignore", "ignore", "pipe"], cwd: fileURLToPath(new URL("../..", import.meta.url)) },
  );
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => {
    said += String(chunk);
  });
  const exited = once(child, "exit");
  while (!said.includes("the page")) {
    const ended = await Promise.race([once(child.stderr, "data").then(() => false), exited.then(() => true)]);
    if (ended) throw new Error(said);
  }
  const url = /serving at (\S+)/.exec(said)?.[1] ?? "";
  const token = /#token=(\S+)/.exec(said)?.[1] ?? "";
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    const [code] = (await exited) as [number | null];
    return code;
  };
  return {
    url,
    token,
    child,
    said: () => said,
    end,
    ask: (method, path, body) =>
      fetch(url + path, {
        method,
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) await end("SIGKILL");
    },
  };
}
