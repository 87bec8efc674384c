/* What the drivers that are killed share, of one journal in a file and of a fleet. */
import { appendFileSync, readFileSync } from "node:fs";
import { childExecution } from "../../src/conversations/calls/child-execution.ts";
import type { Caller } from "../../src/index.ts";
import type { WaitingApproval } from "../../src/runtime/reports.ts";
import { createMemorySandbox, scriptedModel } from "../../src/runtime/testing.ts";
import { type Effect, isWritten, makeTools } from "./shapes.ts";

/** Options of a runtime whose tools write to this file what they do. */
export const driverOptions = (
  effects: string,
  allowedCallers: readonly Caller[] = ["direct", "programmatic"],
  effect: Effect = async (key, kind) => appendFileSync(effects, `${key} ${kind}\n`),
) => ({
  tools: makeTools((key) => appendFileSync(effects, `${key} begin\n`), effect, allowedCallers),
  sandbox: createMemorySandbox(),
  approve: () => "later" as const,
  logger: { error: () => {} },
  // In the memory sandbox the clocks count all that this process does.
  limits: { cpuMs: 600_000, wallMs: 600_000 },
});

/** Decides what waits, as a person would: a payment whose outcome is unknown was done if the effects say so. */
export function decisionsOf(id: string, approvals: readonly WaitingApproval[], effects: string) {
  const written = readFileSync(effects, "utf8");
  const decisions = approvals.map(({ callId, inputDigest, why, hold }) => {
    const [own = "", ofProgram] = callId.split("/");
    const key = ofProgram === undefined ? `${id}:${own}` : `${childExecution(id, own)}:${ofProgram}`;
    const done = `${key}:${inputDigest}`;
    const isDone = why === "outcome_unknown" && isWritten(written, done);
    return [callId, { ...(isDone ? { done: { value: done } } : { allow: true }), hold }] as const;
  });
  return Object.fromEntries(decisions);
}

/** What a client answers. */
export const resultsOf = (calls: readonly { readonly callId: string }[]) =>
  Object.fromEntries(calls.map(({ callId }) => [callId, { value: 7 }]));

const PROGRAM = `const doubled = await Promise.all([1, 2, 3].map((n) => tools.double({ n })));
  const key = await tools.refund({ n: 4 });
  return { sum: doubled.reduce((a, b) => a + b), units: await tools.ask({ n: 5 }), paid: typeof key };`;

/** What the program of a conversation returns, as the answer quotes it. */
export const ANSWER = '{"sum":12,"units":7,"paid":"string"}';

/** Writes that a conversation makes, and the turns of its model. */
export const CONVERSATION = { writes: 3, turns: 3 };

/** Two turns with calls of every kind, and the answer. */
export const model = scriptedModel([
  {
    calls: [
      { id: "double-1", tool: "double", input: { n: 1 } },
      { id: "pay-1", tool: "pay", input: { n: 2 } },
      { id: "refund-1", tool: "refund", input: { n: 3 } },
    ],
  },
  ({ results }) => ({
    text: results.map(({ text }) => text.slice(0, 4)).join("|"),
    programs: [PROGRAM],
    calls: [{ id: "ask-1", tool: "ask", input: { n: 1 } }],
  }),
  ({ results }) => ({ text: results.map(({ text }) => text).join("|") }),
]);
