/** Writes the answers of the sweep of examples/flights, as other code computes them: `node test/examples/write-sweep.ts`. */
import { readFileSync, writeFileSync } from "node:fs";
import { mostDepartures } from "./independent.ts";

const file = new URL("../../examples/flights/task.json", import.meta.url);
const task = JSON.parse(readFileSync(file, "utf8")) as { readonly sweep: { readonly values: readonly number[] } };
const answers = Object.fromEntries(task.sweep.values.map((value) => [value, mostDepartures(value)]));
writeFileSync(file, JSON.stringify({ ...task, sweep: { ...task.sweep, answers } }, null, 2));
