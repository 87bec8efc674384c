/*
 * `make bench-serve-size`: what a server takes, for the table of docs/serving.md. Memory is that of the whole tree of
 * processes, with pages that several share counted once. ENGINES is how many there are, 32 by default.
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { createRuntime, createSqliteJournal, defineTool } from "portcullis";
import { createIsolateSandbox } from "portcullis/sandboxes";
import { createServer } from "portcullis/serve";
import { perSecond, treeShare } from "./measure.js";
import { benchFolder } from "./row.ts";
import { markdown } from "./table.js";

const ENGINES = Number(process.env["ENGINES"] ?? 32);
const WAITING = 1000;
const WIDE = 8;
const SECONDS = 5;

using folder = benchFolder();
const path = join(folder.path, "journal.db");
const gate = Promise.withResolvers<void>();
const common = { description: "d", inputSchema: z.object({}), allowedCallers: ["programmatic"] } as const;
const hold = defineTool({ ...common, name: "hold", effect: "read", execute: () => gate.promise.then(() => 1) });
const ask = defineTool({ ...common, name: "ask", effect: "write", approval: "always", execute: () => 1 });
const get = defineTool({ ...common, name: "get", effect: "read", execute: () => "x".repeat(1000) });

using journal = createSqliteJournal({ path });
await using sandbox = createIsolateSandbox({ engines: ENGINES, queue: 2 * WAITING });
await using runtime = await createRuntime({ tools: [hold, ask, get], journal, sandbox, approve: () => "later" });
const server = await createServer(runtime);
const { url } = await server.listen({ port: 0 });
const headers = { authorization: `Bearer ${server.token}`, "content-type": "application/json" };

async function post(program: string, more: object = {}): Promise<void> {
  const body = JSON.stringify({ program, ...more });
  const response = await fetch(`${url}/v1/executions`, { method: "POST", headers, body });
  const text = await response.text();
  if (!response.ok) throw new Error(text);
}

const mb = (megabytes: number) => `${megabytes.toFixed(0)} MB`;
const journalBytes = () => statSync(path).size + (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0);

await post("return 1");
const idle = treeShare();
const holding = Array.from({ length: ENGINES }, () => post("return await tools.hold({});"));
while (runtime.queue.running < ENGINES) await new Promise((resolve) => setTimeout(resolve, 100));
await new Promise((resolve) => setTimeout(resolve, 3000));
const busy = treeShare();
gate.resolve();
await Promise.all(holding);
const small = await perSecond(() => post("return 1"), { wide: WIDE, seconds: SECONDS });
const called = await perSecond(() => post("for (let i = 0; i < 5; i += 1) await tools.get({}); return 1"), {
  wide: WIDE,
  seconds: SECONDS,
});
const hostBefore = process.memoryUsage.rss();
const bytesBefore = journalBytes();
for (let begun = 0; begun < WAITING; begun += WIDE)
  await Promise.all(Array.from({ length: WIDE }, () => post("return await tools.ask({});")));
const waitingMb = (process.memoryUsage.rss() - hostBefore) / 1e6;
const waitingKb = (journalBytes() - bytesBefore) / 1000 / WAITING;

const rows = [
  ["a server that is idle, two engines ready", mb(idle)],
  [`the same with ${ENGINES} small programs at once, each in a call`, mb(busy)],
  ["each of these programs", mb((busy - idle) / (ENGINES - 2))],
  [`programs that return at once, ${WIDE} clients`, `${small.toFixed(0)} /s`],
  [`programs of five calls of 1 KB, ${WIDE} clients`, `${called.toFixed(0)} /s`],
  [`${WAITING} executions that wait for a decision: growth of the host`, mb(Math.max(0, waitingMb))],
  ["each of them in the journal", `${waitingKb.toFixed(1)} KB`],
];
process.stdout.write(`${markdown(["", "one server"], rows)}\n`);
await server.close({ drainMs: 0 });
