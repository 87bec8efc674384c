/** The tools of an owner: what they need is in its process alone. */
import { defineTool, PortcullisError } from "portcullis";
import { z } from "zod";

const OPEN = [
  { id: "I-1", customer: "ana", cents: 1200 },
  { id: "I-2", customer: "bo", cents: 48_000 },
  { id: "I-3", customer: "cleo", cents: 700 },
];

/** What the bank takes for a proof. Workers never have it. */
function tokenOfBank(): string {
  const token = process.env["BANK_TOKEN"];
  if (token) return token;
  throw new PortcullisError("tool_failed", "The bank cannot be reached: its token is missing.");
}

export default [
  defineTool({
    name: "billing.open_invoices",
    description: "The invoices that are open",
    input: z.object({}),
    output: z.array(z.object({ id: z.string(), customer: z.string(), cents: z.number() })),
    allowedCallers: ["programmatic"],
    effect: "read",
    handler: () => OPEN,
  }),
  defineTool({
    name: "billing.charge",
    description: "Charges an invoice, and gives the number of the receipt",
    input: z.object({ id: z.string(), cents: z.number().int().positive() }),
    output: z.string(),
    allowedCallers: ["programmatic"],
    effect: "write",
    approval: ({ cents }) => cents > 10_000,
    handler: ({ id }) => `receipt of ${id} by ${tokenOfBank().slice(0, 4)}`,
  }),
];
