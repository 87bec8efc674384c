import { createRuntime, defineTool } from "portcullis";
import { createIsolateSandbox } from "portcullis/sandboxes";
import { z } from "zod";
import { medianOf } from "./measure.js";

type AddRow = (what: string, value: number, unit: string, floor: number | undefined, aim: string) => void;

const TOOLS = 200;
const PROGRAM = `
  const orders = await tools.shop.list7({ customer: "ann" });
  return orders.filter(({ open }) => open).reduce((sum, { euros }) => sum + euros, 0);
`;

/** What the check of a program against the declarations of 200 tools adds. The second figure is the same program unchecked. */
export async function checkRows(row: AddRow): Promise<void> {
  const order = z.object({ id: z.string(), euros: z.number(), open: z.boolean() });
  const tools = Array.from({ length: TOOLS }, (_, place) =>
    defineTool({
      name: `shop.list${place}`,
      description: "Orders of a customer",
      input: z.object({ customer: z.string() }),
      output: z.array(order),
      allowedCallers: ["programmatic"],
      effect: "read",
      handler: () => [{ id: "1", euros: 2, open: true }],
    }),
  );
  await using sandbox = createIsolateSandbox();
  await using runtime = await createRuntime({ tools, sandbox });
  const ready = async () => {
    while (sandbox.pool.counts.idle < 2) await new Promise((resolve) => setImmediate(resolve));
  };
  let count = 0;
  const timeOf = (checkPrograms: "refuse" | "off") =>
    medianOf(
      async () => {
        // What was found of a program is kept: each is another one.
        const { outcome } = await runtime.execute(`${PROGRAM}// ${(count += 1)}`, { checkPrograms });
        if (outcome.type !== "completed" || outcome.value !== 2) throw new Error(JSON.stringify(outcome));
      },
      { count: 30, warmUp: 5, before: ready },
    );
  const unchecked = await timeOf("off");
  row("a program of one call, checked against 200 tools", await timeOf("refuse"), "ms", unchecked, "≤ 60 ms");
}
