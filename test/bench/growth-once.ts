/* One kind, one size: sends what a unit takes, in microseconds and in bytes that this process holds. Arguments: kind, size. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, createSqliteJournal, defineTool, jsonSchema, type Runtime } from "portcullis";
import { createMemoryJournal } from "portcullis/journal";
import { createIsolateSandbox } from "portcullis/sandboxes";

const [kind = "", given = ""] = process.argv.slice(2);
const size = Number(given);
const collectGarbage = globalThis.gc as () => void;

/** Bytes that are held once all garbage is collected. */
function held(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

const INPUT = jsonSchema({ type: "object", properties: { i: { type: "integer" } } });
const makeTool = (name: string, handler: (input: { readonly i?: number }) => unknown = () => 1) =>
  defineTool({
    name,
    description: `Returns one, as ${name}`,
    input: INPUT,
    allowedCallers: ["programmatic"],
    effect: "read",
    handler: handler as (input: unknown) => unknown,
  });

async function execute(runtime: Runtime, program: string): Promise<number> {
  const since = performance.now();
  const { outcome } = await runtime.execute(program);
  if (outcome.type !== "completed") throw new Error(`The program ended as ${JSON.stringify(outcome)}.`);
  return performance.now() - since;
}

const callsOf = (count: number) => `for (let i = 1; i <= ${count}; i += 1) await tools.ping({ i }); return ${count};`;

const KINDS: Readonly<Record<string, () => Promise<{ readonly ms: number; readonly bytes: number }>>> = {
  async calls() {
    const seen: number[] = [];
    const ping = makeTool("ping", ({ i = 0 }) => {
      if (i === 1 || i === size) seen.push(held());
      return i;
    });
    const limits = { calls: 1_000_000, runningMs: 3_600_000, wallMs: 3_600_000, totalBytes: 1024 ** 3 };
    await using runtime = await createRuntime({ tools: [ping], limits });
    for (let round = 0; round < 5; round += 1) await execute(runtime, callsOf(2000));
    seen.length = 0;
    const none = await execute(runtime, "return 0;");
    const ms = (await execute(runtime, callsOf(size))) - none;
    return { ms, bytes: (seen.at(-1) ?? 0) - (seen[0] ?? 0) };
  },
  async programs() {
    await using runtime = await createRuntime({
      tools: [makeTool("ping")],
      journal: createMemoryJournal({ keepLength: 0 }),
    });
    for (let round = 0; round < 300; round += 1) await execute(runtime, "return 1;");
    const before = held();
    let ms = 0;
    for (let round = 0; round < size; round += 1) ms += await execute(runtime, "return 1;");
    return { ms, bytes: held() - before };
  },
  async tools() {
    await using sandbox = createIsolateSandbox();
    await using first = await createRuntime({ tools: [makeTool("first")], sandbox });
    await execute(first, "return 1;");
    const before = held();
    const since = performance.now();
    const tools = Array.from({ length: size }, (_, index) => makeTool(`group${index % 40}.tool${index}`));
    await using runtime = await createRuntime({ tools, sandbox });
    await execute(runtime, `return tools.group1.tool1({ i: 1 });`);
    const ms = performance.now() - since;
    return { ms, bytes: held() - before };
  },
  async journal() {
    const folder = mkdtempSync(join(tmpdir(), "portcullis-growth-"));
    try {
      using journal = createSqliteJournal({ path: join(folder, "growth.db"), durability: "relaxed" });
      await using runtime = await createRuntime({ tools: [makeTool("ping")], journal });
      await execute(runtime, "return tools.ping({ i: 1 });");
      const records = await Array.fromAsync(runtime.executions(), async ({ id }) => runtime.execution(id).records());
      const [[header, ...rest] = []] = records;
      if (header?.type !== "header") throw new Error("The execution has no header.");
      const before = held();
      const since = performance.now();
      for (let index = 0; index < size; index += 1) {
        const execution = `execution-${index}`;
        const head = await journal.create({ ...header, execution }, { driver: "bench", until: Date.now() + 60_000 });
        await journal.append(execution, head, rest);
        await journal.find(execution);
      }
      const ms = performance.now() - since;
      return { ms, bytes: held() - before };
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
};

const measured = await KINDS[kind]?.();
if (!measured) throw new Error(`There is no kind ${kind}.`);
process.send?.({ us: (measured.ms * 1000) / size, bytes: measured.bytes / size });
process.disconnect();
