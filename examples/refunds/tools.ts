import { readFileSync } from "node:fs";
import { defineTool } from "portcullis";
import { z } from "zod";

/** A refund above this needs approval. */
export const LIMIT_EUROS = 100;

const Order = z.object({
  id: z.string(),
  customer: z.string(),
  euros: z.number(),
  delivered: z.boolean(),
  complaint: z.string().nullable(),
});

const orders = z.array(Order).parse(JSON.parse(readFileSync(new URL("orders.json", import.meta.url), "utf8")));

const listOrders = defineTool({
  name: "orders.list",
  description: "All orders of the week, with the customer's complaint if there is one",
  input: z.object({}),
  output: z.array(Order),
  allowedCallers: ["programmatic"],
  effect: "read",
  handler: () => orders,
});

const refund = defineTool({
  name: "orders.refund",
  description: `Pays an order's price back. Above ${LIMIT_EUROS} euros a person has to approve it.`,
  input: z.object({ order: z.string(), euros: z.number().positive() }),
  output: z.object({ order: z.string(), refunded: z.number() }),
  allowedCallers: ["programmatic"],
  effect: "write",
  approval: ({ euros }) => euros > LIMIT_EUROS,
  // A real one passes the `idempotencyKey` of its second argument on to the payment service, which then pays only once.
  handler: ({ order, euros }) => ({ order, refunded: euros }),
});

export default [listOrders, refund];
