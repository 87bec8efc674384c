import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { createRuntime } from "portcullis";
import { createServer, type ServerOptions } from "portcullis/serve";
import { createMemorySandbox } from "portcullis/testing";
import { doorTools } from "./tools-of-doors.ts";

const TOKEN = "a-token-of-this-process";

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

export interface OwnDoor extends AsyncDisposable {
  readonly url: string;
  readonly token: string;
}

/** A door over HTTP in this process, which runs programs too. */
export async function openOwnDoor(options: ServerOptions = {}, tools = doorTools()): Promise<OwnDoor> {
  const runtime = await createRuntime({ tools: [...tools], sandbox: createMemorySandbox() });
  const server = await createServer(runtime, { routes: "mcp", ...(options.keys ? {} : { token: TOKEN }), ...options });
  const { url } = await server.listen({ port: 0 });
  return {
    url: `${url}/mcp`,
    token: TOKEN,
    async [Symbol.asyncDispose]() {
      await server.close({ drainMs: 0 });
      await runtime[Symbol.asyncDispose]();
    },
  };
}
