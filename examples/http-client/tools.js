import { defineTool, jsonSchema } from "portcullis";

const EMPTY = jsonSchema({ type: "object", properties: {}, additionalProperties: false });

const ORDERS = [
  { id: "A-1", customer: "Ann", euros: 40 },
  { id: "A-2", customer: "Bob", euros: 25 },
  { id: "A-3", customer: "Ann", euros: 10 },
];

export default [
  defineTool({
    name: "orders.list",
    description: "All orders",
    inputSchema: EMPTY,
    allowedCallers: ["programmatic"],
    effect: "read",
    execute: () => ORDERS,
  }),
  defineTool({
    name: "orders.refund",
    description: "Pays an order back",
    inputSchema: jsonSchema({
      type: "object",
      properties: { id: { type: "string" } },
      required: ["id"],
      additionalProperties: false,
    }),
    allowedCallers: ["programmatic"],
    effect: "write",
    approval: "always",
    execute: ({ id }) => ({ refunded: id }),
  }),
];
