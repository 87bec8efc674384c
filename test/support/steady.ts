import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { stripVTControlCharacters } from "node:util";

/** Runs `make test` again and again, first alone and then beside busy loops, and prints how each run ended. */
const IDLE = Number(process.env.IDLE ?? 10);
const LOADED = Number(process.env.LOADED ?? 5);
const LOOPS = 4;
/** Ends with the process that has started it, however that ends. */
const LOOP = "for (const { ppid } = process; process.ppid === ppid; );";

function once(kind: string, number: number): boolean {
  const before = performance.now();
  const args = ["run", "--reporter=dot", "--silent"];
  const { status, stdout, stderr } = spawnSync("vitest", args, { encoding: "utf8", maxBuffer: 2 ** 28 });
  const seconds = Math.round((performance.now() - before) / 1000);
  process.stdout.write(`${kind} ${number}: ${status === 0 ? "passed" : "failed"} in ${seconds} s\n`);
  const [, failures = ""] = stripVTControlCharacters(stderr).split("Failed Tests");
  if (status !== 0) process.stdout.write(failures === "" ? `${stdout}\n${stderr}\n` : `${failures}\n`);
  return status === 0;
}

const numbers = (length: number) => Array.from({ length }, (_, index) => index + 1);
const idle = numbers(IDLE).map((number) => once("idle", number));
const loops: ChildProcess[] = numbers(LOADED === 0 ? 0 : LOOPS).map(() => spawn(process.execPath, ["-e", LOOP]));
const loaded = numbers(LOADED).map((number) => once("loaded", number));
for (const loop of loops) loop.kill("SIGKILL");

const passed = [...idle, ...loaded].filter(Boolean).length;
process.stdout.write(`${passed} of ${idle.length + loaded.length} runs passed.\n`);
process.exitCode = passed === idle.length + loaded.length ? 0 : 1;
