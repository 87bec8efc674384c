import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { createRuntime, createSqliteJournal, defineTool } from "portcullis";
import type { Journal } from "portcullis/journal";
import { createIsolateSandbox } from "portcullis/sandboxes";
import { medianOf } from "./measure.js";
import { CALLS } from "./workloads.js";
import { benchFolder, type Row, TURN } from "./row.ts";

const common = { inputSchema: z.looseObject({}), allowedCallers: ["programmatic"] } as const;
const ping = defineTool({ ...common, name: "ping", description: "Pings", effect: "read", execute: () => "pong" });
const held = defineTool({
  ...common,
  name: "held",
  description: "Needs approval",
  effect: "write",
  approval: "always",
  execute: () => "done",
});
const AWAITED = `for (let i = 0; i < ${CALLS}; i += 1) await tools.ping({ i });`;
/** Executions that are resumed. */
const RESUMED = 9;

/** What durable executions cost. They are written to the disk of the folder for temporary files. */
export async function durableRows(row: Row): Promise<void> {
  using folder = benchFolder();
  await callRows(row, folder.path);
  await resumeRows(row, folder.path);
  await waitingRows(row, folder.path);
}

async function callRows(row: Row, folder: string): Promise<void> {
  using journal = createSqliteJournal({ path: join(folder, "calls.db") });
  let appends = 0;
  const counting: Journal = {
    isDurable: true,
    create: (...given) => journal.create(...given),
    append: (...given) => {
      appends += 1;
      return journal.append(...given);
    },
    read: (...given) => journal.read(...given),
    find: (...given) => journal.find(...given),
    list: (...given) => journal.list(...given),
    renew: (...given) => journal.renew(...given),
  };
  await using sandbox = createIsolateSandbox();
  await using inFile = await createRuntime({ tools: [ping], sandbox, journal: counting });
  await using inMemory = await createRuntime({ tools: [ping], sandbox });
  for (let round = 0; round < 3; round += 1) await inMemory.execute(AWAITED);
  appends = 0;
  await inFile.execute(AWAITED);
  row("appends for one of 1,000 awaited calls", appends / CALLS, "", undefined, "≤ 1.2");

  const perCall = async (run: () => Promise<unknown>) =>
    ((await medianOf(run, { count: 9, warmUp: 2 })) * 1000) / CALLS;
  const fileUs = await perCall(() => inFile.execute(AWAITED));
  row("one of 1,000 awaited calls, journal in a file", fileUs, "µs", undefined, "");
  row("the same, journal in memory", await perCall(() => inMemory.execute(AWAITED)), "µs", undefined, "");
  const bareUs = (await bareAppend(journal)) * 1000;
  row("one bare append that survives a loss of power, same file", bareUs, "µs", undefined, "");
}

async function bareAppend(journal: Journal): Promise<number> {
  await journal.create({
    type: "header",
    format: 2,
    execution: "bare",
    kind: "program",
    tenant: "bench",
    startedAt: 1,
    language: "javascript",
    sandbox: "isolate",
    program: "",
    source: "",
    tools: [],
    limits: {},
    versions: {},
  } as unknown as Parameters<Journal["create"]>[0]);
  let head = 1;
  return medianOf(
    async () => {
      head = await journal.append("bare", head, [TURN], { safe: true });
    },
    { count: 1000, warmUp: 100 },
  );
}

async function resumeRows(row: Row, folder: string): Promise<void> {
  using journal = createSqliteJournal({ path: join(folder, "resumed.db") });
  await using sandbox = createIsolateSandbox();
  const tools = [ping, held];
  const program = `${AWAITED}\nreturn await tools.held({});`;
  const ready = async () => {
    while (sandbox.pool.counts.idle < 2) await new Promise((resolve) => setImmediate(resolve));
  };
  const ids = Array.from({ length: RESUMED }, (_, index) => `resumed-${index}`);
  {
    await using runtime = await createRuntime({ tools, sandbox, journal, approve: () => "later" });
    for (const execution of ids) await runtime.execute(program, { id: execution });
  }
  await using memory = await createRuntime({ tools, sandbox, approve: () => true });
  const { execution } = await memory.execute(program);
  const replayMs = await medianOf(() => memory.execution(execution).replay(), { count: 9, warmUp: 2, before: ready });
  await using runtime = await createRuntime({ tools, sandbox, journal });
  const resumeMs = await medianOf(
    async () => {
      const { outcome } = await runtime
        .execution(ids.pop() ?? "")
        .resume({ decisions: { [CALLS + 1]: { allow: true } } });
      if (outcome.type !== "completed") throw new Error(`The resumed execution ended as ${JSON.stringify(outcome)}.`);
    },
    { count: RESUMED - 2, warmUp: 2, before: ready },
  );
  row("resume of an execution of 1,000 calls, from a file", resumeMs, "ms", undefined, "");
  row("its replay, from memory", replayMs, "ms", undefined, "");
  row("the resume against the replay", resumeMs / replayMs, "×", undefined, "≤ 3 ×");
}

async function waitingRows(row: Row, folder: string): Promise<void> {
  const script = fileURLToPath(new URL("waiting-once.ts", import.meta.url));
  const child = fork(script, [join(folder, "waiting.db")], { execArgv: [...process.execArgv, "--expose-gc"] });
  const [{ executions, grownMb, heldMb, kept }] = (await once(child, "message")) as [
    { readonly executions: number; readonly grownMb: number; readonly heldMb: number; readonly kept: number },
  ];
  const named = `${executions.toLocaleString("en-US")} executions that wait`;
  row(`${named}: what the host holds for them`, heldMb, "MB", undefined, "≤ 50 MB");
  row(`${named}: growth of the host, garbage of their runs included`, grownMb, "MB", undefined, "");
  row(`${named}: engines that they keep`, kept, "", undefined, "0");
}
