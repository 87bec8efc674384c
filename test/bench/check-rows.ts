import { defineTool, type Runtime } from "portcullis";
import { z } from "zod";
import { medianOf } from "./measure.js";
import type { Row } from "./row.ts";

const PROGRAM = `
  const orders = await tools.shop.list7({ customer: "ann" });
  return orders.filter(({ open }) => open).reduce((sum, { euros }) => sum + euros, 0);
`;

/** What the check of a program against the declarations of 200 tools adds. The second figure is the same program unchecked. */
export async function checkRows(row: Row, host: Runtime, ready: () => Promise<void>): Promise<void> {
  const tools = Array.from({ length: 200 }, (_, place) =>
    defineTool({
      name: `shop.list${place}`,
      description: "Orders of a customer",
      inputSchema: z.object({ customer: z.string() }),
      outputSchema: z.array(z.object({ id: z.string(), euros: z.number(), open: z.boolean() })),
      allowedCallers: ["programmatic"],
      effect: "read",
      execute: () => [{ id: "1", euros: 2, open: true }],
    }),
  );
  await using runtime = host.derive({ tools });
  let count = 0;
  const run = async (checkPrograms: "refuse" | "off") => {
    // What was found of a program is kept: each is another one.
    const { outcome } = await runtime.execute(`${PROGRAM}// ${(count += 1)}`, { checkPrograms });
    if (outcome.type !== "completed" || outcome.value !== 2) throw new Error(JSON.stringify(outcome));
  };
  const timeOf = (mode: "refuse" | "off") => medianOf(() => run(mode), { count: 30, warmUp: 5, before: ready });
  row("a program of one call, checked against 200 tools", await timeOf("refuse"), "ms", await timeOf("off"), "≤ 60 ms");
}
