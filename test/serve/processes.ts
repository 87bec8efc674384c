import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";
import { commandArgs } from "./mcp/doors.ts";

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

/** A command that serves, in a process of its own. What it says has its address and its token. */
async function openProcess(args: readonly string[], address: RegExp, key: RegExp): Promise<ServerProcess> {
  const child = spawn(process.execPath, commandArgs(...args), { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => {
    said += String(chunk);
  });
  const exited = once(child, "exit");
  while (!address.test(said)) {
    const ended = await Promise.race([once(child.stderr, "data").then(() => false), exited.then(() => true)]);
    if (ended) throw new Error(said);
  }
  const [url = "", token = ""] = [address, key].map((one) => one.exec(said)?.[1]);
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

/** `portcullis serve` in a process of its own. */
export const openServerProcess = (...args: readonly string[]): Promise<ServerProcess> =>
  openProcess(["serve", "--port", "0", ...args], /serving at (\S+)[^]*the page/, /#token=(\S+)/);

/** A door over HTTP in a process of its own. */
export const openHttpDoor = (...args: readonly string[]): Promise<ServerProcess> =>
  openProcess(["mcp", "--http", "0", ...args], /MCP at (\S+)\n/, /Bearer (\S+)/);
