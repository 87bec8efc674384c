/** Programs that are measured, and the data they join. `tool` is how a program names a tool. Plain JavaScript, so that every driver can run it as it is. */

export const CALLS = 1000;

export const programs = {
  start: () => "return 1 + 1;",
  oneCall: (tool) => `return (await ${tool("ping")}({ i: 41 })).i + 1;`,
  awaited: (tool) =>
    `let sum = 0; for (let i = 0; i < ${CALLS}; i += 1) sum += (await ${tool("ping")}({ i })).i; return sum;`,
  atOnce: (tool) =>
    `const all = await Promise.all(Array.from({ length: ${CALLS} }, (_, i) => ${tool("ping")}({ i }))); return all.reduce((sum, { i }) => sum + i, 0);`,
  slowAtOnce: (tool) =>
    `return (await Promise.all(Array.from({ length: 50 }, (_, i) => ${tool("slow")}({ i })))).length;`,
  join: (tool) => `
    const byId = new Map((await ${tool("customers")}({})).map((customer) => [customer.id, customer]));
    const regions = {};
    for (const order of await ${tool("orders")}({})) {
      if (order.status !== "paid") continue;
      const { region } = byId.get(order.customerId);
      const sums = (regions[region] ??= { orders: 0, cents: 0 });
      sums.orders += 1;
      sums.cents += order.cents;
    }
    return Object.entries(regions).sort((a, b) => b[1].cents - a[1].cents).slice(0, 3);`,
  compute: () => "let x = 0; for (let i = 0; i < 3e6; i += 1) x = (x * 31 + i) | 0; return x;",
};

/** The same in Python, for the sandbox that runs it. */
export const pythonPrograms = {
  start: () => "1 + 1",
  awaited: () => `total = 0
for i in range(${CALLS}):
    total += (await tools.ping(i=i))["i"]
return total`,
  atOnce: () => `sum(row["i"] for row in await asyncio.gather(*(tools.ping(i=i) for i in range(${CALLS}))))`,
  join: () => `
by_id = {customer["id"]: customer for customer in await tools.customers()}
regions = {}
for order in await tools.orders():
    if order["status"] != "paid":
        continue
    sums = regions.setdefault(by_id[order["customerId"]]["region"], {"orders": 0, "cents": 0})
    sums["orders"] += 1
    sums["cents"] += order["cents"]
return sorted(regions.items(), key=lambda item: -item[1]["cents"])[:3]`,
};

export const answers = {
  start: 2,
  oneCall: 42,
  awaited: (CALLS * (CALLS - 1)) / 2,
  atOnce: (CALLS * (CALLS - 1)) / 2,
  slowAtOnce: 50,
};

const ROWS = 50_000;
const NOTE = "as agreed on the telephone, see the enclosed letter, please call back";
let orders;
let customers;

/** Two tables of 50,000 rows, each about 10 MB of JSON; made once, handed out as they are. */
export const tools = {
  ping: ({ i }) => ({ i }),
  slow: async ({ i }) => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    return { i };
  },
  orders: () =>
    (orders ??= Array.from({ length: ROWS }, (_, n) => ({
      id: `order-${n}`,
      customerId: `customer-${(n * 7919) % ROWS}`,
      status: n % 3 === 0 ? "open" : "paid",
      cents: (n * 37) % 1_000_003,
      currency: "EUR",
      article: `K-${n % 997}`,
      note: `${NOTE} ${n}`,
      placed: `2026-11-${10 + (n % 20)}`,
    }))),
  customers: () =>
    (customers ??= Array.from({ length: ROWS }, (_, n) => ({
      id: `customer-${n}`,
      name: `Customer number ${n}`,
      region: ["north", "south", "east", "west", "centre"][n % 5],
      email: `customer-${n}@example.test`,
      address: `${NOTE.slice(0, 40)} ${n}`,
      tier: n % 4,
      since: 2000 + (n % 26),
      active: n % 7 !== 0,
    }))),
};
