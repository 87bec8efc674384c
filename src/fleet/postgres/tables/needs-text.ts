import type { WorkerNeeds } from "../../../journal/journal.ts";
import { readName, storedName } from "./names.ts";

const WHAT: readonly unknown[] = ["tools", "sandbox", "protocol", "model"] satisfies WorkerNeeds["what"][];
/** Names that are kept, and characters of each: a header has thousands of tools, and a host names them. */
const [NAMES, CHARACTERS] = [20, 100];

export function isNeed(what: unknown): what is WorkerNeeds["what"] {
  return WHAT.includes(what);
}

/** What a column holds of it: a line that says what, and a line for each name. */
export function storedNeeds({ what, names }: WorkerNeeds): string {
  const lines = names.slice(0, NAMES).map((name) => storedName(name.slice(0, CHARACTERS).replaceAll("\n", " ")));
  return [what, ...lines].join("\n");
}

/** Undefined for any other text. */
export function needsOf(stored: unknown): WorkerNeeds | undefined {
  if (typeof stored !== "string") return undefined;
  const [what, ...names] = stored.split("\n", 1 + NAMES);
  return isNeed(what) ? { what, names: names.map((name) => readName(name).slice(0, CHARACTERS)) } : undefined;
}
