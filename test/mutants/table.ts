import { existsSync, readFileSync, writeFileSync } from "node:fs";
import type { Drawn, Place, Recorded } from "./places.ts";

/** The places, one a line, with what the tests found when it was written. */
const RECORD = new URL("drawn.json", import.meta.url);

type Result = Drawn & Recorded;

export const say = (text: string): void => void process.stdout.write(`${text}\n`);

export const readRecorded = (): readonly Recorded[] =>
  existsSync(RECORD) ? (JSON.parse(readFileSync(RECORD, "utf8")) as Recorded[]) : [];

export function writeRecorded(results: readonly Result[]): void {
  const lines = results.map(({ room, file, kind, text, occurrence, found }) =>
    JSON.stringify({ room, file, kind, text, occurrence, found } satisfies Recorded),
  );
  writeFileSync(RECORD, `[\n${lines.join(",\n")}\n]\n`);
}

const wasRun = ({ found }: Recorded) => found !== "not run";
const isFound = ({ found }: Recorded) => found === "test" || found === "test-all";

function cellOf(places: readonly Recorded[]): string {
  const inTest = places.filter(({ found }) => found === "test").length;
  return `${places.filter(isFound).length} (${inTest}) / ${places.filter(wasRun).length}`.padStart(18);
}

export function sayTable(before: readonly Recorded[], after: readonly Result[]): void {
  const sayRow = (name: string, isInRow: (place: Place) => boolean) =>
    say(name.padEnd(14) + [before, after].map((places) => cellOf(places.filter(isInRow))).join(""));
  say("\nFound by make test-all (by make test alone) / run:\n");
  say(`${"".padEnd(14)}${"before".padStart(18)}${"after".padStart(18)}`);
  for (const name of [...new Set([...before, ...after].map(({ room }) => room))].toSorted())
    sayRow(name, ({ room }) => room === name);
  sayRow("all", () => true);
  const notRun = [before, after].map((places) => places.filter((place) => !wasRun(place)).length).join(" before, ");
  const anew = after.filter((place) => place.before === undefined).length;
  say(`\nNot run yet: ${notRun} after. Drawn anew: ${anew}. Not found:`);
  for (const place of after.filter((place) => !isFound(place)))
    say(`${place.file}:${place.line}: ${place.kind}: ${place.text} (${place.found}; before: ${place.before ?? "–"})`);
}
