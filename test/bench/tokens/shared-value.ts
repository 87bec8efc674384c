/**
 * What artifacts save: two programs of one conversation that need the same 5 MB, which each fetches, against one that keeps them for
 * the other. Prints a table; no provider is asked, and tokens are those of the texts that a model reads and writes.
 */
import { z } from "zod";
import { table } from "../../../src/cli/terminal/standard-streams.ts";
import { createRuntime, createSqliteJournal, defineTool } from "../../../src/index.ts";
import { createMemorySandbox, scriptedModel } from "../../../src/runtime/testing.ts";
import { countTokens } from "../../../src/tools/count-tokens.ts";

const rows = Array.from({ length: 60_000 }, (_, id) => ({
  id,
  customer: `customer ${id % 977}`,
  cents: (id * 7919) % 50_000,
  note: "paid by card, shipped the next day",
}));
let fetched = 0;
const orders = defineTool({
  name: "shop.orders",
  description: "All orders.",
  inputSchema: z.object({}),
  allowedCallers: ["programmatic"],
  effect: "read",
  execute: () => {
    fetched += JSON.stringify(rows).length;
    return rows;
  },
});

const COUNT = "return all.filter(({ cents }) => cents > 49_000).length;";
const SUM = "return all.reduce((sum, { cents }) => sum + cents, 0);";
const FETCH = "const all = await tools.shop.orders({});";
const WAYS = {
  "fetched twice": [`${FETCH} ${COUNT}`, `${FETCH} ${SUM}`],
  "kept and loaded": [`${FETCH} await save("orders", all); ${COUNT}`, `const all = await load("orders"); ${SUM}`],
};

const measured: string[][] = [];
for (const [way, programs] of Object.entries(WAYS)) {
  using journal = createSqliteJournal({ path: ":memory:" });
  await using runtime = await createRuntime({ tools: [orders], sandbox: createMemorySandbox(), journal });
  const model = scriptedModel([...programs.map((program) => ({ programs: [program] })), { text: "done" }]);
  fetched = 0;
  const begun = performance.now();
  const { transcript, ending } = await runtime.agent({ model, task: "Count and sum." });
  const ms = performance.now() - begun;
  if (ending.type !== "answered") throw new Error(JSON.stringify(ending));
  const results = transcript.turns.flatMap((turn) => turn.results.map(({ text }) => text));
  const tokens = countTokens([...programs, ...results].join("\n"));
  measured.push([way, (fetched / 1e6).toFixed(1), `${tokens}`, ms.toFixed(0)]);
}
const head = ["two programs that need the same rows", "MB fetched", "tokens of programs and results", "ms"];
process.stdout.write(`${table(head, measured, head.slice(1))}\n`);
