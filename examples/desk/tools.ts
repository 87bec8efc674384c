import { defineTool } from "portcullis";
import { z } from "zod";
import { ORDERS } from "./orders.ts";

const Order = z.object({
  id: z.string(),
  country: z.enum(["DE", "FR", "PL"]),
  euros: z.number(),
  daysLate: z.number().describe("0 if it arrived"),
});

const listOrders = defineTool({
  name: "orders.list",
  description: "All open and delivered orders of the month",
  inputSchema: z.object({}),
  outputSchema: z.array(Order),
  allowedCallers: ["programmatic"],
  effect: "read",
  execute: () => [...ORDERS],
});

/** What has been paid back, by order. */
export const paid = new Map<string, number>();

const refund = defineTool({
  name: "orders.refund",
  description: "Pays an order's price back. A person has to approve each.",
  inputSchema: z.object({ order: z.string(), euros: z.number().positive() }),
  outputSchema: z.object({ order: z.string(), refunded: z.number() }),
  allowedCallers: ["programmatic"],
  effect: "write",
  approval: "always",
  execute: ({ order, euros }) => {
    paid.set(order, (paid.get(order) ?? 0) + euros);
    return { order, refunded: euros };
  },
});

export default [listOrders, refund];
