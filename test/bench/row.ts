import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Adds a row to the table of `make bench`. */
export type Row = (what: string, value: number, unit: string, floor: number | undefined, aim: string) => void;

/** What an append of one turn holds. */
export const TURN = {
  type: "turn",
  event: '{"kind":"answer","now":1,"id":1,"ok":true}\n"pong"',
  commands: ['{"kind":"call","id":2,"tool":"ping"}\n{"i":1}'],
} as const;

/** A folder for files of a bench. */
export function benchFolder() {
  const path = mkdtempSync(join(tmpdir(), "portcullis-bench-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true }) };
}
