import { defineTool, PortcullisError } from "portcullis";
import { z } from "zod";

// What your database, your API or your files would hold. Handlers run on your machine; a program gets what they return.
const COUNTRIES = ["DE", "FR", "PL"] as const;
const CUSTOMERS = Array.from({ length: 50 }, (_, n) => ({ id: `c${n + 1}`, country: COUNTRIES[n % 3] ?? "DE" }));
const ORDERS = CUSTOMERS.flatMap(({ id }, customer) =>
  Array.from({ length: 40 }, (_, n) => ({
    id: `${id}-${n + 1}`,
    customer: id,
    euros: ((customer + 3) * (n + 7)) % 97,
    isPaid: (customer + n) % 4 > 0,
  })),
);

// Names, descriptions and schemas are what a model reads. It calls this one as tools.customers.list({}).
const listCustomers = defineTool({
  name: "customers.list",
  description: "All customers",
  inputSchema: z.object({}),
  outputSchema: z.array(z.object({ id: z.string(), country: z.enum(COUNTRIES) })),
  // A model may call it directly, and the programs that it writes may call it too.
  allowedCallers: ["direct", "programmatic"],
  effect: "read",
  execute: () => CUSTOMERS,
});

const listOrders = defineTool({
  name: "orders.list",
  description: "All orders of one customer",
  inputSchema: z.object({ customer: z.string().describe("id of the customer, like c7") }),
  outputSchema: z.array(z.object({ id: z.string(), customer: z.string(), euros: z.number(), isPaid: z.boolean() })),
  allowedCallers: ["direct", "programmatic"],
  effect: "read",
  execute: ({ customer }) => {
    // The program, or the model, reads this message and can try again. It never sees other errors of a handler.
    if (!CUSTOMERS.some(({ id }) => id === customer))
      throw new PortcullisError("tool_failed", `There is no customer ${customer}: customers.list gives the ids.`);
    return ORDERS.filter((order) => order.customer === customer);
  },
});

// It changes something, so each call waits until a person has seen its input and allowed it.
const remind = defineTool({
  name: "orders.remind",
  description: "Sends the customer of one unpaid order a reminder",
  inputSchema: z.object({ order: z.string(), text: z.string().max(500) }),
  outputSchema: z.object({ reminded: z.string() }),
  allowedCallers: ["programmatic"],
  effect: "write",
  approval: "always",
  execute: ({ order }) => ({ reminded: order }),
});

export default [listCustomers, listOrders, remind];
