/*
 * `make bench-streams`: what rows cost that reach a program as a stream, beside the same rows as one result, as pages, and in
 * a raw loop in an isolate (the floor). All take turns within each round, so that what else the machine does meets all of
 * them. ROUNDS (5) is how often each has its turn, SIZES a list of numbers of rows, WAYS a part of the ways.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, createSqliteJournal, defineTool, type Runtime } from "portcullis";
import { createIsolateSandbox } from "portcullis/sandboxes";
import { z } from "zod";
import { median, timed, treeProcessor } from "./measure.js";
import { runRaw } from "./streams/raw-loop.ts";
import { PAGE_ROWS, Row, ROW_BYTES, rowOf, rowsOf, sumOf } from "./streams/rows.ts";
import { figure, markdown } from "./table.js";

const ROUNDS = Number(process.env["ROUNDS"] || 5);
const SIZES = (process.env["SIZES"] || "1000,10000,100000,1000000").split(",").map(Number);
/** One result may have this many rows. More rows would need higher limits than the defaults. */
const MOST_OF_ONE_RESULT = 100_000;
/** Calls that are compared with the first rows of as many streams. */
const FIRSTS = 200;

const common = {
  allowedCallers: ["programmatic"],
  effect: "read",
  input: z.object({ count: z.number().int() }),
} as const;
async function* asked({ count }: { readonly count: number }): AsyncGenerator<Row, void, undefined> {
  for (let index = 0; index < count; index += 1) yield rowOf(index);
}
const tools = [
  defineTool({ ...common, name: "rows.stream", description: "Rows", stream: true, handler: asked }),
  defineTool({ ...common, name: "rows.checked", description: "Rows", stream: true, output: Row, handler: asked }),
  defineTool({ ...common, name: "rows.list", description: "Rows", handler: ({ count }) => [...rowsOf(count)] }),
  defineTool({
    ...common,
    name: "rows.page",
    description: "A page of rows",
    input: z.object({ count: z.number().int(), from: z.number().int() }),
    handler: ({ count, from }) => [...rowsOf(Math.min(PAGE_ROWS, count - from), from)],
  }),
  defineTool({ ...common, name: "rows.one", description: "A row", handler: ({ count }) => rowOf(count) }),
];

const streamed = (name: string, count: number) =>
  `let sum = 0; for await (const row of tools.rows.${name}({ count: ${count} })) sum += row.amount; return sum;`;
const listed = (count: number) =>
  `let sum = 0; for (const row of await tools.rows.list({ count: ${count} })) sum += row.amount; return sum;`;
const paged = (count: number) => `
  let sum = 0;
  for (let from = 0; from < ${count}; from += ${PAGE_ROWS})
    for (const row of await tools.rows.page({ count: ${count}, from })) sum += row.amount;
  return sum;`;
const RAW = "let sum = 0; for await (const row of rows()) sum += row.amount; return sum;";

const limits = {
  calls: 1_000_000,
  runningMs: 3_600_000,
  wallMs: 3_600_000,
  totalBytes: 4096 * 1024 ** 2,
  streamBytes: 4096 * 1024 ** 2,
} as const;
const heldBytes = 8 * 1024 ** 3;

const folder = mkdtempSync(join(tmpdir(), "portcullis-bench-"));
try {
  using journal = createSqliteJournal({ path: join(folder, "streams.db") });
  await using sandbox = createIsolateSandbox();
  await using inMemory = await createRuntime({ tools, sandbox, limits: { ...limits, totalBytes: 48 * 1024 ** 2 } });
  await using roomy = await createRuntime({ tools, sandbox, limits, heldBytes });
  await using inFile = await createRuntime({ tools, sandbox, limits, heldBytes, journal });

  const run = async (runtime: Runtime, program: string) => {
    const { outcome } = await runtime.execute(program);
    if (outcome.type !== "completed") throw new Error(`The program ended as ${JSON.stringify(outcome)}.`);
    return outcome.value;
  };
  const all: Readonly<Record<string, (count: number) => Promise<unknown>>> = {
    "the floor: a raw loop in an isolate": (count) => runRaw(RAW, asked({ count })),
    "a stream": (count) => run(inMemory, streamed("stream", count)),
    "a stream with an output schema": (count) => run(inMemory, streamed("checked", count)),
    "a stream, journal in a file": (count) => run(inFile, streamed("stream", count)),
    "one result": (count) => run(roomy, listed(count)),
    [`pages of ${PAGE_ROWS}`]: (count) => run(roomy, paged(count)),
    [`pages of ${PAGE_ROWS}, journal in a file`]: (count) => run(inFile, paged(count)),
  };
  const wanted = process.env["WAYS"]?.split(",");
  const ways = Object.entries(all).filter(([way]) => wanted?.some((part) => way.startsWith(part)) ?? true);
  const floor = ways[0]?.[0] ?? "";
  const isPossible = (way: string, count: number) => way !== "one result" || count <= MOST_OF_ONE_RESULT;

  for (const [, way] of ways) for (let warm = 0; warm < 3; warm += 1) await way(10_000);
  const rows: string[][] = [];
  for (const count of SIZES) {
    const times = new Map<string, { readonly ms: number; readonly processorMs: number }[]>();
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const [name, way] of ways) {
        if (!isPossible(name, count)) continue;
        const before = treeProcessor();
        let sum: unknown;
        const ms = await timed(async () => {
          sum = await way(count);
        });
        if (sum !== sumOf(count)) throw new Error(`${name} gave ${JSON.stringify(sum)}.`);
        times.set(name, [...(times.get(name) ?? []), { ms, processorMs: treeProcessor() - before }]);
      }
    }
    const middle = (name: string) => median((times.get(name) ?? []).map(({ ms }) => ms)) as number;
    for (const [name] of ways) {
      const number = count.toLocaleString("en-US");
      if (!isPossible(name, count)) {
        rows.push([name, number, "–", "–", "–", "–", "–"]);
        continue;
      }
      const ms = middle(name);
      const processor = median((times.get(name) ?? []).map(({ processorMs }) => processorMs)) as number;
      // In each round, so that what else the machine did meets both.
      const against = median(
        (times.get(name) ?? []).map((time, round) => (times.get(floor)?.[round]?.ms ?? 0) / time.ms),
      );
      const perItem = (ms * 1000) / count;
      rows.push([
        name,
        number,
        figure((count / ms) * 1000),
        figure((count * ROW_BYTES) / ms / 1000),
        figure(perItem),
        // The system counts it in steps of 10 ms.
        count < 100_000 ? "" : figure((processor * 1000) / count),
        `${Math.round(against * 100)} %`,
      ]);
      process.stderr.write(`${rows.at(-1)?.join(" | ")}\n`);
    }
  }
  process.stdout.write(
    `${markdown(["", "rows", "rows a second", "MB a second", "µs a row", "processor time, µs a row", "of the floor's throughput"], rows)}\n\n`,
  );

  const perCall = async (program: string) => ((await timed(() => run(inMemory, program))) * 1000) / FIRSTS;
  const called = `for (let n = 0; n < ${FIRSTS}; n += 1) await tools.rows.one({ count: 1000 }); return 0;`;
  const begun = (name: string) => `
    for (let n = 0; n < ${FIRSTS}; n += 1) for await (const row of tools.rows.${name}({ count: 100_000 })) break;
    return 0;`;
  const firsts: { readonly call: number; readonly first: number; readonly checked: number }[] = [];
  for (let round = 0; round < ROUNDS + 2; round += 1) {
    const call = await perCall(called);
    const first = await perCall(begun("stream"));
    const checked = await perCall(begun("checked"));
    if (round >= 2) firsts.push({ call, first, checked });
  }
  const call = median(firsts.map((each) => each.call)) as number;
  const line = (name: string, pick: (each: (typeof firsts)[number]) => number) => [
    name,
    figure(median(firsts.map(pick)) as number),
    `${figure(median(firsts.map((each) => pick(each) / each.call)) as number)} ×`,
  ];
  process.stdout.write(
    `${markdown(
      ["", "µs", "against the call"],
      [
        ["an ordinary awaited call, of one row", figure(call), ""],
        line("the first row of a stream, and its end", (each) => each.first),
        line("the same with an output schema", (each) => each.checked),
      ],
    )}\n\n`,
  );
} finally {
  rmSync(folder, { recursive: true });
}
process.stdout.write(
  `node ${process.versions.node}, ${cpus().length} × ${cpus()[0]?.model ?? "unknown"}, ${new Date().toISOString().slice(0, 10)}\n`,
);
