import { scriptedModel } from "../../src/runtime/testing.ts";

export const LEASE_MS = 1500;
export const RECONCILE_MS = 300;

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
