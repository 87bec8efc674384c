import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createRuntime, type McpServer, type Report, type Tool } from "../../../src/index.ts";
import { createMemorySandbox } from "../../../src/runtime/testing.ts";

const sandbox = createMemorySandbox();

/** How long a server may take to start: longer than on any machine. */
export const CONNECT_MS = 60_000;

export const READ = { allowedCallers: ["programmatic"], effect: "read" } as const;
export const WRITE = { allowedCallers: ["programmatic"], effect: "write" } as const;

const require = createRequire(import.meta.url);

/** The file of a real server that is installed. */
export function serverFile(name: string): string {
  return join(dirname(require.resolve(`@modelcontextprotocol/${name}/package.json`)), "dist/index.js");
}

export function realServer(name: string, source: string, ...args: readonly string[]): McpServer {
  return { name: source, command: process.execPath, args: [serverFile(name), ...args], connectTimeoutMs: CONNECT_MS };
}

const raw = fileURLToPath(new URL("fixtures/raw-server.ts", import.meta.url));

/** A server that behaves in this way; see `fixtures/raw-server.ts`. */
export function rawServer(mode: string, notes?: string): McpServer {
  return {
    name: "raw",
    command: process.execPath,
    args: [raw, mode, ...(notes === undefined ? [] : [notes])],
    connectTimeoutMs: CONNECT_MS,
  };
}

type Run = Omit<Parameters<typeof createRuntime>[0], "tools" | "sandbox">;

/** Runs a program with these tools. */
export async function run(tools: readonly Tool[], program: string, options: Run = {}): Promise<Report> {
  await using runtime = await createRuntime({ tools, sandbox, logger: { error() {} }, ...options });
  return await runtime.execute(program);
}

/** What a program gets of a call: its value, or code and message of its failure. */
export async function call(tools: readonly Tool[], expression: string, options: Run = {}): Promise<unknown> {
  const { outcome } = await run(
    tools,
    `try { return await tools.${expression} } catch (error) { return { code: error.code, message: error.message } }`,
    options,
  );
  return outcome.type === "completed" ? outcome.value : outcome;
}

/** Whether any process of this machine was started with this argument. */
export function isRunning(argument: string): boolean {
  return processesWith(argument).length > 0;
}

function processesWith(argument: string): readonly number[] {
  return readdirProc().filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").includes(argument) && !isZombie(pid);
    } catch {
      return false;
    }
  });
}

function isZombie(pid: number): boolean {
  return /^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
}

function readdirProc(): readonly number[] {
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && pid !== process.pid);
}

/** A process of a test, which ends with it. */
export async function startProcess(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  ready: RegExp,
): Promise<ChildProcess & AsyncDisposable> {
  const child = spawn(process.execPath, args, { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  await new Promise<void>((resolve, reject) => {
    const listen = (chunk: Buffer) => {
      said += String(chunk);
      if (ready.test(said)) resolve();
    };
    child.stdout.on("data", listen);
    child.stderr.on("data", listen);
    child.once("exit", () => reject(new Error(said)));
  });
  return Object.assign(child, {
    async [Symbol.asyncDispose]() {
      const gone = once(child, "exit");
      child.kill("SIGKILL");
      await gone;
    },
  });
}
