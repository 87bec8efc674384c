import { z } from "zod";
import { PortcullisError } from "../../src/base/index.ts";
import type { CallRequest } from "../../src/gate/open-call.ts";
import type { ToolOptions } from "../../src/tools/define-tool.ts";
import { jsonSchema, type Schema } from "../../src/tools/schema.ts";
import { makeTool, openSession, type SessionParts } from "./open-session.ts";
import { throws } from "../support/failing.ts";

/** One call, and all that may stand in its way. */
export interface Way extends Omit<SessionParts, "tools"> {
  readonly tool?: Partial<ToolOptions<Schema, Schema>>;
  readonly request?: Partial<CallRequest>;
  readonly closed?: boolean;
  /** A further tool. */
  readonly beside?: string;
}

/** Sends one call the way that is described, and says what came of it. */
export async function send({ tool = {}, request = {}, closed = false, beside, ...parts }: Way) {
  let runs = 0;
  const { execute: handler = () => "ok" } = tool;
  if (handler === "client") throw new Error("These calls have a handler.");
  const counted = makeTool<Schema, Schema>({
    ...tool,
    execute: (input, context) => {
      runs += 1;
      return handler(input, context);
    },
  });
  const tools = beside === undefined ? [counted] : [counted, makeTool({ name: beside })];
  const { session, call, records } = openSession({ ...parts, tools });
  if (closed) session.close();
  const answer = await call({ a: 1 }, request);
  return { answer, runs, records };
}

const STRING_ID = { inputSchema: z.object({ id: z.string() }) };
const LONG_TYPE = {
  inputSchema: z.object(Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`field${n}`, z.string()]))),
};
const explode = throws("a secret of the host");
export const throwing: Schema = {
  "~standard": {
    ...z.object({})["~standard"],
    validate: explode,
    jsonSchema: jsonSchema({ type: "object" })["~standard"].jsonSchema,
  },
};
const rejecting: Schema = { "~standard": { ...throwing["~standard"], validate: async () => explode() } };
const circular: unknown[] = [];
circular.push(circular);
export const never = () => new Promise<string>(() => {});

const failing = (...given: ConstructorParameters<typeof PortcullisError>): Way => {
  return { tool: { execute: () => Promise.reject(new PortcullisError(...given)) } };
};

/** Calls that are refused before their handler runs: the code, and the way. */
export const REFUSED: readonly [string, Way][] = [
  ["tool_unknown", { request: { tool: "xyzzy" } }],
  ["tool_unknown", { tool: { name: "crm.find" }, request: { tool: "crm.fnd" } }],
  ["tool_unknown", { tool: { name: "ab" }, beside: "ac", request: { tool: "aa" } }],
  ["tool_unknown", { tool: { allowedCallers: ["direct"] } }],
  ["tool_unknown", { request: { tool: "__proto__" } }],
  ["tool_unknown", { request: { tool: "constructor" } }],
  ["caller_not_allowed", { callers: ["direct", "programmatic"], request: { caller: "direct" } }],
  ["caller_not_allowed", { callers: ["direct", "programmatic"], tool: { allowedCallers: ["direct"] } }],
  ["budget_spent", { limits: { calls: 0 } }],
  ["budget_spent", { limits: { inputBytes: 6 } }],
  ["budget_spent", { limits: { inputValues: 1 } }],
  ["budget_spent", { limits: { totalBytes: 6 } }],
  ["input_invalid", { tool: STRING_ID }],
  ["input_invalid", { tool: LONG_TYPE, request: { inputText: "[]" } }],
  ["input_invalid", { request: { inputText: "{" } }],
  ["input_invalid", { request: { inputText: "" } }],
  ["input_invalid", { request: { inputText: '{"a":{"__proto__":1}}' } }],
  ["input_invalid", { request: { inputText: `${"[".repeat(200)}${"]".repeat(200)}` } }],
  ["input_invalid", { tool: { inputSchema: throwing } }],
  ["input_invalid", { tool: { inputSchema: rejecting } }],
  ["policy_denied", { policies: [() => ({ deny: "Not today." })] }],
  ["policy_unavailable", { policies: [() => Promise.reject(new Error("db down"))] }],
  ["approval_unavailable", { tool: { approval: "always" }, approve: () => Promise.reject(new Error("db down")) }],
  ["approval_denied", { tool: { approval: "always" }, approve: () => false }],
  [
    "approval_expired",
    { tool: { approval: "always" }, approve: () => new Promise<never>(() => {}), limits: { waitMs: 10 } },
  ],
];

/** Calls whose handler runs without success. */
export const FAILED: readonly [string, Way][] = [
  ["handler_failed", { tool: { execute: explode } }],
  ["output_invalid", { tool: { execute: () => Symbol("5") } }],
  ["output_invalid", { tool: { execute: () => circular } }],
  ["handler_failed", failing("tool_failed", "No customer has this id.")],
  ["handler_failed", failing("head_moved", "a secret of the host")],
  ["source_unavailable", failing("source_unavailable", "The server of t has gone. Call it again.")],
  [
    "result_too_large",
    {
      limits: { resultBytes: 3 },
      tool: {
        execute: (_input, { resultBytes }) => {
          throw new PortcullisError("result_too_large", `The body has more than ${resultBytes} bytes.`);
        },
      },
    },
  ],
  ["handler_timed_out", { tool: { execute: never, timeoutMs: 1 } }],
  ["handler_timed_out", { tool: { execute: never, timeoutMs: 1, effect: "write" } }],
  ["handler_timed_out", { tool: { execute: never, timeoutMs: 1, effect: "idempotent" } }],
  ["output_invalid", { tool: { outputSchema: z.number() } }],
  ["output_invalid", { tool: { outputSchema: throwing } }],
  ["output_invalid", { tool: { outputSchema: rejecting } }],
  ["result_too_large", { limits: { resultBytes: 3 } }],
  ["result_too_large", { limits: { resultBytes: 9 }, tool: { execute: () => "éééé" } }],
  ["result_too_large", { limits: { resultValues: 3 }, tool: { execute: () => [1, 2, 3] } }],
  ["result_over_budget", { limits: { totalBytes: 10 } }],
];
