/*
 * `make bench-gateway`: what the gateway adds to the first word of an answer, and to a program that its client answers. The
 * clients, the gateway and its upstream have a process each. The same clients ask the upstream alone and the gateway in turn,
 * ROUNDS (2) times SECONDS (6) each, so that what else the machine does meets both. CLIENTS is a list of how many ask at once,
 * each again as soon as it has its answer; of programs, which cost more, MOST_PROGRAMS (8) at most. FIRST_MS (500) and PIECE_MS (50) are the pace of the upstream.
 */
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { Agent, type IncomingMessage, request } from "node:http";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { ASK_PROGRAM, FIRST_MS, FIRST_WORD, PIECE_MS, PIECES, TOKEN } from "./gateway/task.ts";
import { timed, treeProcessor } from "./measure.js";
import { figure, markdown } from "./table.js";

const ROUNDS = Number(process.env["ROUNDS"] || 2);
const SECONDS = Number(process.env["SECONDS"] || 6);
const WARM_UP = 20;
const MOST_PROGRAMS = Number(process.env["MOST_PROGRAMS"] || 8);
const CLIENTS = (process.env["CLIENTS"] || "8,200").split(",").map(Number);

const agent = new Agent({ keepAlive: true, maxSockets: Infinity });
const folder = mkdtempSync(join(tmpdir(), "portcullis-gateway-"));
const children: ChildProcess[] = [];

async function start(file: string, ...given: string[]): Promise<string> {
  const child = fork(new URL(`gateway/${file}`, import.meta.url), given);
  children.push(child);
  const [url] = (await once(child, "message")) as [string];
  return url;
}

interface Answer {
  readonly text: string;
  /** Until the first word of the model was there. */
  readonly firstMs: number;
}

async function ask(url: string, body: object): Promise<Answer> {
  const since = performance.now();
  const headers = {
    authorization: `Bearer ${TOKEN}`,
    "content-type": "application/json",
    "anthropic-version": "2023-06-01",
  };
  const sent = request(url, { method: "POST", agent, headers });
  sent.end(JSON.stringify(body));
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  let text = "";
  let firstMs = NaN;
  for await (const chunk of response.setEncoding("utf8")) {
    text += chunk;
    if (Number.isNaN(firstMs) && text.includes(FIRST_WORD)) firstMs = performance.now() - since;
  }
  if (response.statusCode !== 200) throw new Error(`${url}: ${response.statusCode} ${text}`);
  return { text, firstMs };
}

const upstream = await start("upstream.ts");
const gateway = await start("gateway.ts", upstream, join(folder, "journal.db"));
const gatewayMs = (): number => treeProcessor(children[1]?.pid);

const user = (content: string) => ({ role: "user", content });
const direct = (content: string, more: readonly object[] = []) =>
  ask(`${upstream}/v1/chat/completions`, { model: "bench", stream: true, messages: [user(content), ...more] });

const TOOLS = [
  { type: "code_execution_20260120", name: "code_execution" },
  {
    name: "depot",
    description: "Units of a depot.",
    input_schema: { type: "object", properties: { id: { type: "number" } }, required: ["id"] },
    allowed_callers: ["code_execution_20260120"],
  },
];
const through = (stream: boolean, messages: readonly object[], more: object = {}) =>
  ask(`${gateway}/v1/messages`, { model: "bench", max_tokens: 1000, stream, tools: TOOLS, messages, ...more });

/** Each gives its milliseconds. */
interface Pair {
  readonly what: string;
  readonly most: number;
  readonly alone: () => Promise<number>;
  readonly gateway: () => Promise<number>;
}

/** A program that pauses at two calls, which the client answers. */
async function answerProgram(): Promise<void> {
  const question = user(`Add ${ASK_PROGRAM}.`);
  const paused = JSON.parse((await through(false, [question])).text) as {
    readonly content: readonly { readonly type: string; readonly id: string }[];
    readonly container: { readonly id: string };
  };
  const calls = paused.content.filter(({ type }) => type === "tool_use");
  if (calls.length !== 2) throw new Error(`A program did not call its tools: ${JSON.stringify(paused.content)}`);
  const results = calls.map(({ id }) => ({ type: "tool_result", tool_use_id: id, content: '{"n":4}' }));
  const history = [question, { role: "assistant", content: paused.content }, { role: "user", content: results }];
  const { text } = await through(false, history, { container: paused.container.id });
  if (!text.includes(FIRST_WORD)) throw new Error(`A program was not answered: ${text}`);
}

const PAIRS: readonly Pair[] = [
  {
    what: "first word of an answer",
    most: Infinity,
    alone: async () => (await direct("Hello?")).firstMs,
    gateway: async () => (await through(true, [user("Hello?")])).firstMs,
  },
  {
    what: "a program of two calls, to its answer",
    most: MOST_PROGRAMS,
    alone: () =>
      timed(async () => {
        await direct(`Add ${ASK_PROGRAM}.`);
        await direct("Hello?");
      }),
    gateway: () => timed(answerProgram),
  },
];

/** So many clients ask, each again and again, for a while. */
async function phase(clients: number, run: () => Promise<number>): Promise<number[]> {
  const figures: number[] = [];
  const end = performance.now() + SECONDS * 1000;
  const client = async () => {
    while (performance.now() < end) figures.push(await run());
  };
  await Promise.all(Array.from({ length: clients }, client));
  return figures;
}

function percentile(figures: readonly number[], part: number): number {
  const sorted = figures.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? NaN;
}

const loads: number[] = [];
const rows: string[][] = [];
try {
  for (const { what, most, alone, gateway: served } of PAIRS)
    for (const clients of CLIENTS.filter((count) => count <= most)) {
      const of = { alone: [] as number[], served: [] as number[], processorMs: 0 };
      await Promise.all(Array.from({ length: Math.min(clients, WARM_UP) }, served));
      for (let round = 0; round < ROUNDS; round += 1) {
        of.alone.push(...(await phase(clients, alone)));
        const before = gatewayMs();
        of.served.push(...(await phase(clients, served)));
        of.processorMs += gatewayMs() - before;
        loads.push(loadavg()[0] ?? NaN);
      }
      const cells = [0.5, 0.99].flatMap((part) => {
        const [upstreamMs, servedMs] = [percentile(of.alone, part), percentile(of.served, part)];
        return [figure(upstreamMs), figure(servedMs), figure(servedMs - upstreamMs)];
      });
      const answers = of.served.length;
      rows.push([`${what}, ${clients} clients`, ...cells, figure(of.processorMs / answers), String(answers)]);
    }
} finally {
  for (const child of children) child.disconnect();
  agent.destroy();
  rmSync(folder, { recursive: true });
}
const head = "ms;alone, p50;gateway, p50;added;alone, p99;gateway, p99;added;processor;answers".split(";");
process.stdout.write(`${markdown(head, rows)}\n
${new Date().toISOString().slice(0, 10)}, ${availableParallelism()} cores, load ${Math.min(...loads).toFixed(1)} to ${Math.max(...loads).toFixed(1)}.
The upstream gives its first word after ${FIRST_MS} ms, and ${PIECES - 1} more, each after ${PIECE_MS} ms.\n`);
