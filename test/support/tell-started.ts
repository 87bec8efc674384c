import { mkdirSync, readFileSync, rmSync } from "node:fs";

const STARTED = "node_modules/.cache/started";

/** `make test` starts no more processes and threads than this: each costs as much time as a hundred other tests. */
const MOST_STARTED = 400;

export function setup(): void {
  mkdirSync("node_modules/.cache", { recursive: true });
  rmSync(STARTED, { force: true });
}

/** Prints how many processes and threads the tests of a run have started. */
export function teardown(): void {
  const noted = notedIn(STARTED);
  const threads = noted.split("t").length - 1;
  const processes = noted.length - threads;
  const bound = process.env.PORTCULLIS_TESTS === undefined ? `, at most ${MOST_STARTED}` : "";
  process.stdout.write(`Tests started ${processes} processes and ${threads} threads${bound}.\n`);
}

function notedIn(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
