import { defineTool } from "portcullis";
import { z } from "zod";
import { DAYS, ordersOf, paymentsOf } from "./rows.ts";

const common = {
  inputSchema: z.object({ days: z.number().int().min(1).max(DAYS).describe("so many of the first days") }),
  allowedCallers: ["programmatic"],
  effect: "read",
  stream: true,
} as const;

const orders = defineTool({
  ...common,
  name: "shop.orders",
  description: "Orders of the first days, in the order of their ids",
  outputSchema: z.object({
    id: z.string(),
    day: z.number(),
    customer: z.string(),
    country: z.string().describe("two letters"),
    cents: z.number(),
    note: z.string(),
  }),
  execute: ({ days }) => ordersOf(days),
});

const payments = defineTool({
  ...common,
  name: "shop.payments",
  description: "Payments for these orders, in the order of the orders' ids: none, one or two for each",
  outputSchema: z.object({ order: z.string(), cents: z.number(), method: z.string(), reference: z.string() }),
  execute: ({ days }) => paymentsOf(days),
});

export default [orders, payments];
