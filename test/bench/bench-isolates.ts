/*
 * `make bench-isolates`: isolates that share a process, against isolates with a process each. What memory they take, how long
 * programs take beside one that computes, and which programs end the process for all. Each figure is the median of ROUNDS (3).
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { median, treeShare } from "./measure.js";
import { figure, markdown } from "./table.js";

const ROUNDS = Number(process.env.ROUNDS ?? 3);
const CHILD = fileURLToPath(new URL("isolates.cjs", import.meta.url));
const PROGRAMS = 4;
const SEPARATOR = "\u001e";

const CALLS = "for (let i = 0; i < 300; i += 1) await tools.ping({ i });";
const COMPUTES = "let x = 0; for (;;) { for (let i = 0; i < 3e6; i += 1) x = (x * 31 + i) | 0; await tools.ping({}); }";
const FILLS: Readonly<Record<string, string>> = {
  "a list of numbers": "const all = []; for (let i = 0; ; i += 1) all.push(i * 1.5);",
  "a text that doubles": "let s = 'x'; for (;;) s += s + JSON.stringify(s).slice(0, 1e6);",
  "parts of a text": "'x,'.repeat(1e8).split(',');",
  "a map": "const all = new Map(); for (let i = 0; ; i += 1) all.set(i, { i });",
  "`Array.from({ length: 1e9 })`": "Array.from({ length: 1e9 }, (_, i) => i);",
};

async function start(count: number, where: string): Promise<ChildProcess> {
  const child = fork(CHILD, [String(count), where], { execArgv: ["--no-node-snapshot"], silent: true });
  await once(child, "message");
  return child;
}

async function end(children: readonly ChildProcess[]): Promise<void> {
  const live = children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
  const ended = live.map((child) => once(child, "exit"));
  for (const child of live) child.kill("SIGKILL");
  await Promise.all(ended);
}

/** Runs a program in one of the child's isolates, and resolves with how it ended. */
function run(child: ChildProcess, index: number, program: string): Promise<string> {
  const send = (header: object, body: string) => {
    if (child.connected) child.send({ index, text: `${JSON.stringify(header)}\n${body}` }, () => {});
  };
  return new Promise((resolve) => {
    child.once("exit", () => resolve("died"));
    child.on("message", (message: { readonly index: number; readonly text: string }) => {
      if (message.index !== index) return;
      if (!message.text.startsWith("{")) return resolve(message.text);
      for (const frame of message.text.split(SEPARATOR)) {
        const { kind, id } = JSON.parse(frame.split("\n", 1)[0] ?? "") as { kind: string; id?: number };
        if (kind === "call") send({ kind: "answer", now: 1, id, ok: true }, "1");
        if (kind === "settled") resolve("settled");
      }
    });
    const limits = { calls: 1e6, logBytes: 512, printedBytes: 512, frameBytes: 65_536 };
    const header = { kind: "start", protocol: 1, now: 1, seed: "0123456789abcdef0123456789abcdef", limits };
    send(header, JSON.stringify({ program, tools: ["ping"] }));
  });
}

async function memoryOf(processes: number, each: number, where: string): Promise<number> {
  const children: ChildProcess[] = [];
  for (let index = 0; index < processes; index += 1) children.push(await start(each, where));
  await delay(500);
  const mb = children.reduce((sum, { pid }) => sum + treeShare(pid), 0);
  await end(children);
  return mb;
}

/** Milliseconds until three programs have made their calls, alone or beside one that computes. */
async function timeOfCalls(processes: number, fourth?: string): Promise<number> {
  const each = PROGRAMS / processes;
  const children = await Promise.all(Array.from({ length: processes }, () => start(each, "main")));
  const runAt = (index: number, program: string) =>
    run(children[Math.floor(index / each)] as ChildProcess, index % each, program);
  if (fourth !== undefined) void runAt(3, fourth);
  const since = performance.now();
  await Promise.all([0, 1, 2].map((index) => runAt(index, CALLS)));
  const ms = performance.now() - since;
  await end(children);
  return ms;
}

async function middle(measure: () => Promise<number>): Promise<string> {
  const figures: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) figures.push(await measure());
  return figure(median(figures));
}

const rows = [
  ["eight idle isolates, MB with shared pages once", await middle(() => memoryOf(8, 1, "main"))],
  ["the same, four in a process", await middle(() => memoryOf(2, 4, "main"))],
  ["the same, four in a process with a thread each", await middle(() => memoryOf(2, 4, "threads"))],
  ["300 awaited calls of three programs, ms", await middle(() => timeOfCalls(4))],
  ["the same, in one process", await middle(() => timeOfCalls(1))],
  ["the same beside a program that computes", await middle(() => timeOfCalls(4, COMPUTES))],
  ["the same, in one process", await middle(() => timeOfCalls(1, COMPUTES))],
];
process.stdout.write(`${markdown(["", "figure"], rows)}\n\n`);

const ends: string[][] = [];
for (const [name, program] of Object.entries(FILLS)) {
  const child = await start(1, "main");
  const ended = await run(child, 0, program);
  ends.push([name, ended === "memory" ? "its isolate ends" : "its process ends"]);
  await end([child]);
}
process.stdout.write(`${markdown(["a program that fills memory with", "what ends"], ends)}\n`);
