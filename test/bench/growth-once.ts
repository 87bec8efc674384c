/* One kind, one size: sends what a unit takes, in time, in processor time and in bytes that this process holds. Arguments: kind, size. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, createSqliteJournal, defineTool, jsonSchema, type Runtime } from "portcullis";
import { createMemoryJournal } from "portcullis/journal";
import { createIsolateSandbox } from "portcullis/sandboxes";
import { treeProcessor } from "./measure.js";

const [kind = "", given = ""] = process.argv.slice(2);
const size = Number(given);
const collectGarbage = globalThis.gc as () => void;

/** What there is at one moment: milliseconds since the start, of processor time of all processes too, and bytes that are held. */
interface Moment {
  readonly ms: number;
  readonly processorMs: number;
  readonly bytes: number;
}

/** Collects all garbage. */
function now(): Moment {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return { ms: performance.now(), processorMs: treeProcessor(), bytes: heapUsed + external };
}

const INPUT = jsonSchema({ type: "object", properties: { i: { type: "integer" } } });
const makeTool = (name: string, handler: (input: { readonly i?: number }) => unknown = () => 1) =>
  defineTool({
    name,
    description: `Returns one, as ${name}`,
    inputSchema: INPUT,
    allowedCallers: ["programmatic"],
    effect: "read",
    execute: handler as (input: unknown) => unknown,
  });

async function execute(runtime: Runtime, program: string): Promise<void> {
  const { outcome } = await runtime.execute(program);
  if (outcome.type !== "completed") throw new Error(`The program ended as ${JSON.stringify(outcome)}.`);
}

const callsOf = (count: number) => `for (let i = 1; i <= ${count}; i += 1) await tools.ping({ i }); return ${count};`;

/** Each resolves with the moments before and after `size` units. */
const KINDS: Readonly<Record<string, () => Promise<readonly [Moment, Moment]>>> = {
  async calls() {
    const seen: Moment[] = [];
    const ping = makeTool("ping", ({ i = 0 }) => {
      if (i === 1 || i === size) seen.push(now());
      return i;
    });
    const limits = { calls: 1_000_000, cpuMs: 3_600_000, wallMs: 3_600_000, totalBytes: 1024 ** 3 };
    await using runtime = await createRuntime({ tools: [ping], limits });
    for (let round = 0; round < 5; round += 1) await execute(runtime, callsOf(2000));
    seen.length = 0;
    await execute(runtime, callsOf(size));
    const [before, after] = seen;
    if (!before || !after) throw new Error("The calls were not made.");
    return [before, after];
  },
  async programs() {
    await using runtime = await createRuntime({
      tools: [makeTool("ping")],
      journal: createMemoryJournal({ keepLength: 0 }),
    });
    for (let round = 0; round < 1000; round += 1) await execute(runtime, "return 1;");
    const before = now();
    for (let round = 0; round < size; round += 1) await execute(runtime, "return 1;");
    return [before, now()];
  },
  async tools() {
    await using sandbox = createIsolateSandbox();
    await using first = await createRuntime({ tools: [makeTool("first")], sandbox });
    await execute(first, "return 1;");
    const before = now();
    const tools = Array.from({ length: size }, (_, index) => makeTool(`group${index % 40}.tool${index}`));
    await using runtime = await createRuntime({ tools, sandbox });
    await execute(runtime, `return tools.group1.tool1({ i: 1 });`);
    return [before, now()];
  },
  async journal() {
    const folder = mkdtempSync(join(tmpdir(), "portcullis-growth-"));
    try {
      using journal = createSqliteJournal({ path: join(folder, "growth.db"), durability: "relaxed" });
      await using runtime = await createRuntime({ tools: [makeTool("ping")], journal });
      await execute(runtime, "return tools.ping({ i: 1 });");
      const records = await Array.fromAsync(runtime.executions.list(), async ({ execution }) =>
        runtime.execution(execution).records(),
      );
      const [[header, ...rest] = []] = records;
      if (header?.type !== "header") throw new Error("The execution has no header.");
      const note = async (execution: string) => {
        const head = await journal.create({ ...header, execution }, { driver: "bench", until: Date.now() + 60_000 });
        await journal.append(execution, head, rest);
        await journal.find(execution);
      };
      for (let index = 0; index < 500; index += 1) await note(`warm-${index}`);
      const before = now();
      for (let index = 0; index < size; index += 1) await note(`execution-${index}`);
      return [before, now()];
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
};

const measured = await KINDS[kind]?.();
if (!measured) throw new Error(`There is no kind ${kind}.`);
const [before, after] = measured;
process.send?.({
  us: ((after.ms - before.ms) * 1000) / size,
  processorUs: ((after.processorMs - before.processorMs) * 1000) / size,
  bytes: (after.bytes - before.bytes) / size,
});
process.disconnect();
