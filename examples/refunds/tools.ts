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
  inputSchema: z.object({}),
  outputSchema: z.array(Order),
  allowedCallers: ["programmatic"],
  effect: "read",
  execute: () => orders,
});

const refund = defineTool({
  name: "orders.refund",
  description: `Pays an order's price back. Above ${LIMIT_EUROS} euros a person has to approve it.`,
  inputSchema: z.object({ order: z.string(), euros: z.number().positive() }),
  outputSchema: z.object({ order: z.string(), refunded: z.number() }),
  allowedCallers: ["programmatic"],
  effect: "write",
  approval: ({ euros }) => euros > LIMIT_EUROS,
  // A real one passes the `idempotencyKey` of its second argument on to the payment service, which then pays only once.
  execute: ({ order, euros }) => ({ order, refunded: euros }),
});

export default [listOrders, refund];
