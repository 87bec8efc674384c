import { defineTool } from "portcullis";
import { z } from "zod";

/** The tools of the command line in the tests of the package. */
export default [
  defineTool({
    name: "math.add",
    description: "Adds two numbers",
    inputSchema: z.object({ a: z.number(), b: z.number() }),
    allowedCallers: ["direct", "programmatic"],
    effect: "read",
    execute: ({ a, b }) => a + b,
  }),
  defineTool({
    name: "bank.pay",
    description: "Pays an amount",
    inputSchema: z.object({ euros: z.number() }),
    allowedCallers: ["direct", "programmatic"],
    effect: "write",
    approval: "always",
    execute: ({ euros }) => ({ paid: euros }),
  }),
];
