import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";

export const cli = fileURLToPath(new URL("../../../src/cli.ts", import.meta.url));
export const tools = fileURLToPath(new URL("fixtures/door-tools.ts", import.meta.url));

/** The arguments of node that start the door. */
export const doorArgs = (...args: readonly string[]): string[] => [
  "--conditions=portcullis-source",
  cli,
  "mcp",
  "--tools",
  tools,
  ...args,
];

export interface OpenDoor extends AsyncDisposable {
  readonly url: string;
  readonly token: string;
  readonly child: ChildProcessByStdio<null, null, Readable>;
  /** What it has written to standard error so far. */
  readonly said: () => string;
}

/** Opens a door over HTTP in a process of its own. */
export async function openHttpDoor(...args: readonly string[]): Promise<OpenDoor> {
  const child = spawn(process.execPath, doorArgs("--http", "0", ...args), { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => {
    said += String(chunk);
  });
  while (!said.includes("MCP at ")) {
    const [event] = (await Promise.race([
      once(child.stderr, "data").then(() => ["data"]),
      once(child, "exit").then(() => ["exit"]),
    ])) as [string];
    if (event === "exit") throw new Error(said);
  }
  return {
    url: /MCP at (\S+)/.exec(said)?.[1] ?? "",
    token: /Bearer (\S+)/.exec(said)?.[1] ?? "",
    child,
    said: () => said,
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, "exit");
      child.kill("SIGTERM");
      await gone;
    },
  };
}
