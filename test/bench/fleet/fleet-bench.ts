/* What the rows of a fleet share. */
import { once } from "node:events";
import { fork, type ChildProcess } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { createRuntime, defineTool, type Runtime, type RuntimeOptions } from "portcullis";
import { createFleet, createPostgresJournal } from "portcullis/fleet";
import { z } from "zod";
import type { PostgresServer } from "../../postgres-support/postgres-server.ts";

export type Row = (what: string, value: number, unit: string, aim: string) => void;
export type Rows = (row: Row, server: PostgresServer) => Promise<void>;

export const FIVE_CALLS = "for (let i = 0; i < 5; i += 1) await tools.ping({ i });";

export interface PingOptions {
  /** What a call takes, in milliseconds. */
  readonly callMs?: number;
  readonly approval?: "always";
}

/** A tool that tells of each call as it begins. */
export const makePing = (
  onCall: (execution: string) => void = () => {},
  { callMs = 0, ...approval }: PingOptions = {},
) =>
  defineTool({
    name: "ping",
    description: "Pings",
    inputSchema: z.looseObject({}),
    allowedCallers: ["programmatic"],
    effect: "read",
    ...approval,
    execute: async (_, { execution }) => {
      onCall(execution);
      if (callMs > 0) await delay(callMs);
      return "pong";
    },
  });

/** A process of a fleet, in this process: its journal is a schema of the server's. */
export async function join(
  stack: AsyncDisposableStack,
  url: string,
  schema: string,
  options: Pick<RuntimeOptions, "tools" | "approve" | "leaseMs">,
): Promise<Runtime> {
  const fleet = stack.use(createFleet({ journal: stack.use(createPostgresJournal({ url, schema })) }));
  return stack.use(await createRuntime({ ...options, fleet }));
}

/** Of workers in processes of their own. */
export const LEASE_MS = 3000;

export interface WorkerOptions {
  readonly url: string;
  readonly schema: string;
  readonly concurrency: number;
  readonly callMs: number;
}

export interface WorkerProcess extends AsyncDisposable {
  readonly child: ChildProcess;
  /** Kills it, in the midst of whatever it does. */
  readonly kill: () => Promise<void>;
}

/** A worker in a process of its own (`worker-process.ts`). Resolves once it works. */
export async function startWorker(
  options: WorkerOptions,
  onCall: (execution: string) => void = () => {},
): Promise<WorkerProcess> {
  const child = fork(new URL("worker-process.ts", import.meta.url), [JSON.stringify(options)]);
  const ended = once(child, "exit");
  const ready = Promise.withResolvers<void>();
  child.on("message", (message) => (message === "ready" ? ready.resolve() : onCall(message as string)));
  await Promise.race([ready.promise, ended.then(() => Promise.reject(new Error("A worker has ended.")))]);
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    await ended;
  };
  return { child, kill: () => end("SIGKILL"), [Symbol.asyncDispose]: () => end("SIGTERM") };
}

/** Resolves as an execution's next call begins. `onCall` is for a tool of `makePing`. */
export class Calls {
  readonly #awaited = new Map<string, () => void>();

  readonly onCall = (execution: string): void => {
    this.#awaited.get(execution)?.();
    this.#awaited.delete(execution);
  };

  next(execution: string): Promise<void> {
    return new Promise((resolve) => void this.#awaited.set(execution, resolve));
  }
}

/** Rows for the middle and the 99th of a hundred of these times. */
export function timeRows(row: Row, what: string, times: readonly number[], aims: readonly [string, string]): void {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
  row(`${what}, p50 of ${times.length}`, at(0.5), "ms", aims[0]);
  row("the same, p99", at(0.99), "ms", aims[1]);
}
