import { z } from "zod";
import { PortcullisError } from "../../src/errors.ts";
import type { CallRequest } from "../../src/gate/open-call.ts";
import type { ToolOptions } from "../../src/tools/define-tool.ts";
import { jsonSchema, type Schema } from "../../src/tools/schema.ts";
import { makeTool, openSession, type SessionParts } from "./open-session.ts";

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
  const { handler = () => "ok" } = tool;
  if (handler === "client") throw new Error("These calls have a handler.");
  const counted = makeTool<Schema, Schema>({
    ...tool,
    handler: (input, context) => {
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

const STRING_ID = { input: z.object({ id: z.string() }) };
const LONG_TYPE = {
  input: z.object(Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`field${n}`, z.string()]))),
};
const explode = (): never => {
  throw new Error("a secret of the host");
};
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

/** Calls that are refused before their handler runs: the code, the way, and what the caller is told. */
export const REFUSED: readonly [string, Way, string][] = [
  ["tool_unknown", { request: { tool: "xyzzy" } }, 'There is no tool "xyzzy".'],
  [
    "tool_unknown",
    { tool: { name: "crm.find" }, request: { tool: "crm.fnd" } },
    'There is no tool "crm.fnd". Did you mean crm.find?',
  ],
  [
    "tool_unknown",
    { tool: { name: "ab" }, beside: "ac", request: { tool: "aa" } },
    'There is no tool "aa". Did you mean ab or ac?',
  ],
  ["tool_unknown", { tool: { allowedCallers: ["direct"] } }, 'There is no tool "t".'],
  ["tool_unknown", { request: { tool: "__proto__" } }, 'There is no tool "__proto__".'],
  ["tool_unknown", { request: { tool: "constructor" } }, 'There is no tool "constructor".'],
  [
    "caller_not_allowed",
    { callers: ["direct", "programmatic"], request: { caller: "direct" } },
    "t can only be called from a program, not directly.",
  ],
  [
    "caller_not_allowed",
    { callers: ["direct", "programmatic"], tool: { allowedCallers: ["direct"] } },
    "t can only be called directly, not from a program.",
  ],
  [
    "budget_spent",
    { limits: { calls: 0 } },
    "This execution may make 0 calls (limit calls), and has used them all. Return what you have, or fetch more with each call.",
  ],
  [
    "budget_spent",
    { limits: { inputBytes: 6 } },
    "The input of t has 7 bytes, at most 6 are allowed for one call (limit inputBytes). Pass less, or split it into several calls.",
  ],
  [
    "budget_spent",
    { limits: { inputValues: 1 } },
    "The input of t holds 2 values, at most 1 are allowed for one call (limit inputValues). Pass less, or split it into several calls.",
  ],
  [
    "budget_spent",
    { limits: { totalBytes: 6 } },
    "The inputs and results of this execution may take 6 bytes in all (limit totalBytes), and t would bring them to 7. Return what you have, or ask tools for less.",
  ],
  [
    "input_invalid",
    { tool: STRING_ID },
    "The input of t does not fit: a is not a field of t; id: Invalid input: expected string, received undefined. It takes { id: string }.",
  ],
  [
    "input_invalid",
    { tool: LONG_TYPE, request: { inputText: "[]" } },
    "The input of t does not fit: Invalid input: expected object, received array.",
  ],
  [
    "input_invalid",
    { request: { inputText: "{" } },
    "The input of t does not fit: it is not JSON. It takes Record<string, unknown>.",
  ],
  [
    "input_invalid",
    { request: { inputText: "" } },
    "The input of t does not fit: it is not JSON. It takes Record<string, unknown>.",
  ],
  [
    "input_invalid",
    { request: { inputText: '{"a":{"__proto__":1}}' } },
    "The input of t does not fit: it has a field called __proto__. It takes Record<string, unknown>.",
  ],
  [
    "input_invalid",
    { request: { inputText: `${"[".repeat(200)}${"]".repeat(200)}` } },
    "The input of t does not fit: it is nested more than 100 levels deep. It takes Record<string, unknown>.",
  ],
  [
    "input_invalid",
    { tool: { input: throwing } },
    "The input of t does not fit: it cannot be checked against the tool's schema. It takes Record<string, unknown>.",
  ],
  [
    "input_invalid",
    { tool: { input: rejecting } },
    "The input of t does not fit: it cannot be checked against the tool's schema. It takes Record<string, unknown>.",
  ],
  [
    "policy_denied",
    { policies: [() => ({ deny: "Not today." })] },
    'The policy of the host refuses this call of t. Continue without it. Reason given: "Not today."',
  ],
  [
    "approval_denied",
    { tool: { approval: "always" }, approve: () => false },
    "The call of t needs approval, and approval was denied. Continue without it.",
  ],
  [
    "approval_expired",
    { tool: { approval: "always" }, approve: () => new Promise<never>(() => {}), limits: { waitMs: 10 } },
    "The call of t needs approval, and no decision came within 10 ms (limit waitMs). Continue without it.",
  ],
];

const HIDDEN = "t failed. The cause is in the operator's log, under call 1.";
const UNDECLARED =
  "t returned a result that does not match its declared output. The fault is in the tool, not in the input.";
const LARGE = "are allowed for one call (limit resultBytes). Ask for less: fewer fields, a filter, or page by page.";

/** Calls whose handler runs without success. */
export const FAILED: readonly [string, Way, string][] = [
  ["handler_failed", { tool: { handler: explode } }, HIDDEN],
  ["handler_failed", { tool: { handler: async () => explode() } }, HIDDEN],
  ["handler_failed", { tool: { handler: () => 5n } }, HIDDEN],
  ["handler_failed", { tool: { handler: () => circular } }, HIDDEN],
  [
    "handler_failed",
    {
      tool: {
        handler: () => {
          throw new PortcullisError("tool_failed", "No customer has this id.");
        },
      },
    },
    "No customer has this id.",
  ],
  [
    "handler_failed",
    {
      tool: {
        handler: () => {
          throw new PortcullisError("head_moved", "a secret of the host");
        },
      },
    },
    HIDDEN,
  ],
  [
    "source_unavailable",
    {
      tool: {
        handler: () => {
          throw new PortcullisError("source_unavailable", "The server of t has gone. Call it again.");
        },
      },
    },
    "The server of t has gone. Call it again.",
  ],
  [
    "result_too_large",
    {
      limits: { resultBytes: 3 },
      tool: {
        handler: (_input, { resultBytes }) => {
          throw new PortcullisError("result_too_large", `The body has more than ${resultBytes} bytes.`);
        },
      },
    },
    `The result of t has 4 bytes or more, at most 3 ${LARGE}`,
  ],
  ["handler_timed_out", { tool: { handler: never, timeoutMs: 1 } }, "t took longer than 1 ms and was aborted."],
  [
    "handler_timed_out",
    { tool: { handler: never, timeoutMs: 1, effect: "write" } },
    "t took longer than 1 ms and was aborted. It may have taken effect.",
  ],
  [
    "handler_timed_out",
    { tool: { handler: never, timeoutMs: 1, effect: "idempotent" } },
    "t took longer than 1 ms and was aborted. It may have taken effect.",
  ],
  ["output_invalid", { tool: { output: z.number() } }, UNDECLARED],
  ["output_invalid", { tool: { output: throwing } }, UNDECLARED],
  ["output_invalid", { tool: { output: rejecting } }, UNDECLARED],
  ["result_too_large", { limits: { resultBytes: 3 } }, `The result of t has 4 bytes or more, at most 3 ${LARGE}`],
  [
    "result_too_large",
    { limits: { resultBytes: 9 }, tool: { handler: () => "éééé" } },
    `The result of t has 10 bytes or more, at most 9 ${LARGE}`,
  ],
  [
    "result_too_large",
    { limits: { resultValues: 3 }, tool: { handler: () => [1, 2, 3] } },
    "The result of t holds 4 values or more, at most 3 are allowed for one call (limit resultValues). Ask for less: fewer fields, a filter, or page by page.",
  ],
  [
    "result_over_budget",
    { limits: { totalBytes: 10 } },
    "The inputs and results of this execution may take 10 bytes in all (limit totalBytes), and t would bring them to 11. Return what you have, or ask tools for less.",
  ],
];
