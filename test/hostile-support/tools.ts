import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { PortcullisError, type Tool } from "../../src/index.ts";
import { makeTool } from "../support/tools.ts";

/** Stands for whatever only the host may know; nothing a program or its reader gets may hold it. */
export const HOST_SECRET = "host-secret-7c1e5b";

/** Names of handlers that ran though programs may not call them. */
export const forbiddenRuns: string[] = [];

/** As libraries for databases make them: what says itself what its JSON is. */
const DOCUMENT = { toJSON: () => ROW };
const ROW = { text: "x".repeat(10_000) };

/** Results of about 300 MB of JSON. Those that share their parts take little memory; all are made before anything is measured. */
const LARGE: Readonly<Record<string, () => unknown>> = {
  rows: () => Array.from({ length: 30_000 }, () => ROW),
  numbers: () => Array.from({ length: 30_000 }, () => NUMBERS),
  keys: () => Array.from({ length: 30_000 }, () => KEYS),
  string: () => "x".repeat(300_000_000),
  documents: () => Array.from({ length: 30_000 }, () => DOCUMENT),
  bytes: () => Buffer.alloc(90_000_000, 200),
};
const NUMBERS = Array.from({ length: 5000 }, (_, index) => index % 10);
const KEYS = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`k${index}`, 0]));
const large = new Map<string, unknown>();

export function makeLargeResults(): void {
  for (const [kind, make] of Object.entries(LARGE)) large.set(kind, make());
}

/** What a tool may get from a database that an attacker writes to: JSON, but with names that mean something to JavaScript. */
const STRANGE = JSON.parse(
  '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"toJSON":"no function","then":"no function","toString":1,"valueOf":null,"length":-1,"hasOwnProperty":false,"\\u2028":"\\u001e\\u0000\\ud800"}',
) as unknown;

const empty = z.object({});

export const HOSTILE_TOOLS: readonly Tool[] = [
  makeTool({
    name: "read",
    inputSchema: z.object({ id: z.number() }),
    execute: ({ id }) => ({ id, name: `row ${id}` }),
  }),
  makeTool({ name: "echo", inputSchema: z.object({ value: z.any() }), execute: ({ value }) => value as unknown }),
  makeTool({
    name: "list",
    inputSchema: z.object({ ids: z.array(z.number()) }),
    execute: ({ ids }) => ({ count: ids.length }),
  }),
  makeTool({
    name: "large",
    inputSchema: z.object({ kind: z.enum(["rows", "numbers", "keys", "string", "documents", "bytes"]) }),
    execute: ({ kind }) => large.get(kind),
  }),
  makeTool({
    name: "rows",
    inputSchema: z.object({ n: z.number().default(Number.POSITIVE_INFINITY), size: z.number().default(100) }),
    outputSchema: z.object({ id: z.number(), text: z.string() }),
    stream: true,
    async *execute({ n, size }) {
      const text = "x".repeat(size);
      for (let id = 0; id < n; id += 1) yield { id, text };
    },
  }),
  makeTool({
    name: "bad_rows",
    inputSchema: z.object({
      how: z.enum(["throws", "invalid", "huge", "hangs", "endless", "promise", "returns", "text", "finally"]),
    }),
    outputSchema: z.any(),
    stream: true,
    execute: ({ how }) => (how === "text" ? "no rows" : (goWrong(how) as Iterable<unknown>)),
  }),
  makeTool({ name: "hang", inputSchema: empty, execute: () => new Promise(() => {}) }),
  makeTool({
    name: "slow",
    inputSchema: z.object({ ms: z.number() }),
    execute: ({ ms }) => delay(ms, { ms }),
  }),
  makeTool({
    name: "fail",
    inputSchema: z.object({ how: z.enum(["error", "cause", "getter", "string", "rejection", "public", "result"]) }),
    execute: ({ how }) => failWithHostData(how),
  }),
  makeTool({ name: "strange", inputSchema: empty, execute: () => STRANGE }),
  makeTool({
    name: "write",
    inputSchema: z.object({ id: z.number(), ms: z.number().default(20) }),
    effect: "write",
    execute: ({ id, ms }, { signal }) =>
      new Promise((resolve) => {
        const end = () => resolve({ id });
        setTimeout(end, ms).unref();
        signal.addEventListener("abort", end);
      }),
  }),
  makeTool({
    name: "vault.open",
    allowedCallers: ["direct"],
    effect: "write",
    execute: () => {
      forbiddenRuns.push("vault.open");
      return { secret: HOST_SECRET };
    },
  }),
];

/** Rows of which the third is wrong in some way. */
function* goWrong(how: string): Generator<unknown, unknown> {
  try {
    yield { id: 0, text: "x".repeat(200_000) };
    yield { id: 1 };
    if (how === "throws") throw new Error(HOST_SECRET);
    if (how === "returns") return HOST_SECRET;
    for (;;)
      yield how === "invalid"
        ? failWithHostData("result")
        : how === "huge"
          ? large.get("rows")
          : how === "hangs"
            ? new Promise(() => {})
            : how === "promise"
              ? Promise.reject(new Error(HOST_SECRET))
              : null;
  } finally {
    if (how === "finally") failWithHostData("error");
  }
}

function failWithHostData(how: string): unknown {
  const error = new Error(`connect failed: ${HOST_SECRET}`, { cause: new Error(HOST_SECRET) });
  Object.assign(error, { env: process.env, path: process.cwd(), token: HOST_SECRET, code: HOST_SECRET });
  switch (how) {
    case "string":
      throw HOST_SECRET as unknown as Error;
    case "getter":
      throw Object.defineProperty(new Error(), "message", {
        get: () => {
          throw error;
        },
      });
    case "rejection":
      return Promise.reject(error);
    case "public":
      throw new PortcullisError("tool_failed", "The row is locked.", { cause: error });
    case "result":
      return {
        get row() {
          throw error;
        },
      };
    default:
      throw error;
  }
}
