import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";

const STARTED = "node_modules/.cache/started";

/** `make test` starts no more processes and threads than this: each costs as much time as a hundred other tests. */
const MOST_STARTED = 400;
const FILES = 5;

export function setup(): void {
  mkdirSync("node_modules/.cache", { recursive: true });
  writeFileSync(STARTED, "");
}

/** Prints how many processes and threads the tests of a run have started, and the files that started most. */
export function teardown(): void {
  const lines = readFileSync(STARTED, "utf8").split("\n").slice(0, -1);
  rmSync(STARTED);
  const processes = lines.filter((line) => line.startsWith("process ")).length;
  const files = Map.groupBy(lines, (line) => line.slice(line.indexOf(" ") + 1));
  const most = [...files]
    .toSorted(([, one], [, other]) => other.length - one.length)
    .slice(0, FILES)
    .map(([file, { length }]) => `${file} ${length}`);
  const bound = process.env.PORTCULLIS_TESTS === undefined ? `, at most ${MOST_STARTED} of both` : "";
  process.stdout.write(`Tests started ${processes} processes and ${lines.length - processes} threads${bound}.\n`);
  if (most.length > 0) process.stdout.write(`Most: ${most.join(", ")}.\n`);
}
