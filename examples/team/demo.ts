import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Scene } from "../scene.ts";
import { STANDS } from "./tools.ts";

/** Tokens of all turns: two of the conversation, and two of each agent. */
const TOKENS = (2 + 2 * STANDS) * 120;
/** A dead process holds its conversation until its lease has ended. */
const LEASE_MS = 500;

/** A program asks twenty agents at once within one budget. Its process is killed after ten answers, and another one ends it. */
export default async function team({ heading, print, portcullis, signal }: Scene): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), "portcullis-team-"));
  const journal = join(folder, "team.db");
  try {
    heading("twenty agents work at once, and their process is killed after ten have answered");
    const first = await work(journal, signal, STANDS / 2);
    for (const line of first) print(line);
    await setTimeout(2 * LEASE_MS);
    heading("another process takes up what is left; no recorded turn is asked for again");
    const second = await work(journal, signal);
    for (const line of second) print(line);
    heading("the tree: the conversation, its program, and the agents that the program has asked");
    const listed = await portcullis(["show", "--journal", journal]);
    const [, program = ""] = / program +(\S+)/.exec(listed.stdout) ?? [];
    const shown = await portcullis(["show", program, "--journal", journal]);
    const report = { answer: `${broken()} things came back broken.`, ending: "answered", tokens: TOKENS };
    return (
      answered(first).length >= STANDS / 2 &&
      second.at(-1) === JSON.stringify(report) &&
      listed.stdout.split("Stand ").length > STANDS &&
      shown.code === 0 &&
      shown.stdout.includes(`${STANDS}× task`)
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs the worker in a process of its own, which is killed after so many answers. Resolves with its lines. */
async function work(
  journal: string,
  signal: AbortSignal,
  killedAfter = Number.POSITIVE_INFINITY,
): Promise<readonly string[]> {
  const module = fileURLToPath(import.meta.url).replace(/demo(?=\.[jt]s$)/, "worker");
  const args = [...process.execArgv, module, journal];
  const worker = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"], signal });
  const lines: string[] = [];
  const ended = once(worker, "close");
  for await (const line of createInterface({ input: worker.stdout })) {
    lines.push(line);
    if (answered(lines).length >= killedAfter) worker.kill("SIGKILL");
  }
  await ended;
  return lines;
}

const answered = (lines: readonly string[]) => lines.filter((line) => line.startsWith("answered"));

/** Counted in the file itself. */
function broken(): number {
  const text = readFileSync(new URL("files/stands.md", import.meta.url), "utf8");
  return [...text.matchAll(/and (\d+) came back/g)].reduce((sum, [, count]) => sum + Number(count), 0);
}
