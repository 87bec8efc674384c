import MiniSearch from "minisearch";
import { createRuntime, defineTool, jsonSchema, type Tool } from "portcullis";
import { countTokens } from "portcullis/comparison";
import { createMemorySandbox, scriptedModel } from "portcullis/testing";
import { readCatalogue } from "../tools/search/catalogue.ts";
import { LATER_QUERIES, LATER_UNSEEN_QUERIES, QUERIES, type Query, UNSEEN_QUERIES } from "../tools/search/queries.ts";
import { type Recall, recallOf } from "../tools/search/recall.ts";
import { median, timed } from "./measure.js";
import type { Row } from "./row.ts";

/** Searches among 4,000 tools. Where there is a second figure, it is that of plain BM25 (minisearch with its defaults) on the same texts. */
export async function searchRows(row: Row): Promise<void> {
  const catalogue = readCatalogue();
  const tools = catalogue.map(({ name, description, effect, tags, fields, results }): Tool =>
    defineTool({
      name,
      // Some operations have none.
      description: description.trim() || name,
      inputSchema: jsonSchema({
        type: "object",
        properties: Object.fromEntries(fields.map(([field, about]) => [field, { type: "string", description: about }])),
      }),
      outputSchema: jsonSchema({ type: "object", properties: Object.fromEntries(results.map((field) => [field, {}])) }),
      allowedCallers: ["programmatic"],
      effect,
      tags,
      execute: () => null,
    }),
  );
  const model = scriptedModel([{ text: "done" }]);
  await using runtime = await createRuntime({ tools, sandbox: createMemorySandbox() });

  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  const firstMs = await timed(() => runtime.searchTools("x"));
  row("index of 4,009 tools and its first search", firstMs, "ms", undefined, "≤ 1000 ms");
  globalThis.gc?.();
  row("memory of that index", (process.memoryUsage().heapUsed - before) / 1e6, "MB", undefined, "≤ 20 MB");

  const plain = new MiniSearch<(typeof catalogue)[number]>({
    fields: ["name", "description", "fields"],
    idField: "name",
  });
  plain.addAll(catalogue);
  const measured = async (queries: readonly Query[]): Promise<Recall> => {
    const found = new Map<string, readonly string[]>();
    for (const { words } of queries) {
      const tools = await runtime.searchTools(words, 10);
      found.set(
        words,
        tools.map(({ name }) => name),
      );
    }
    return recallOf(queries, (words) => found.get(words) ?? []);
  };
  const sets = [
    ["tuned on", [...QUERIES, ...LATER_QUERIES], ""],
    ["not tuned on", UNSEEN_QUERIES, "≥ 36 of 40 queries"],
    ["not tuned on, later", LATER_UNSEEN_QUERIES, "≥ 50 of 56 queries"],
  ] as const;
  for (const [what, queries, aim] of sets) {
    const own = await measured(queries);
    const plainly = recallOf(queries, (words) => plain.search(words).map(({ id }) => String(id)));
    const of = `of ${queries.length} queries`;
    row(`tools found in the first place, ${what}`, own.at1, of, plainly.at1, "");
    row(`in the first five, ${what}`, own.at5, of, plainly.at5, aim);
    row(`in the first ten, ${what}`, own.at10, of, plainly.at10, "");
  }
  const times: number[] = [];
  for (const { words } of [...QUERIES, ...UNSEEN_QUERIES]) times.push(await timed(() => runtime.searchTools(words, 5)));
  row("one search that finds five of 4,009 tools", median(times), "ms", undefined, "≤ 10 ms");

  const whole = countTokens(runtime.declarations({ budgetTokens: 10_000_000 }));
  await runtime.agent({ model, task: "x" });
  const opening = model.conversations[0]?.[0]?.opening;
  const declared = countTokens(JSON.stringify([opening?.runProgram, ...(opening?.tools ?? [])]));
  row("tokens of the declarations of 4,009 tools", declared, "tokens", whole, "≤ 1500 tokens");
  const found = countTokens(JSON.stringify(await runtime.searchTools("invoices of a customer", 5)));
  row("tokens of five tools that a search found", found, "tokens", undefined, "");
}
