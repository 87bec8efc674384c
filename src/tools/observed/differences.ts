import { PortcullisError } from "../../errors.ts";
import { dividedNames } from "./shape-schema.ts";
import { type Kind, KINDS, type Shape } from "./shape.ts";

/** For the operator. */
export function resultDrift(tool: string, news: readonly string[]): PortcullisError {
  return new PortcullisError(
    "result_drift",
    `A result of ${tool} is unlike all before: ${news.join("; ")}. Programs that were written for those may fail on it.`,
  );
}

/** Differences that are told of one result. */
const TOLD = 3;

/** In which kinds and fields one more value differs from all before it, in words: `.title is missing`. A field that is new is none: the value fits all the same. At most a few. */
export function differences(before: Shape, one: Shape): readonly string[] {
  const found: string[] = [];
  compare(before, one, "", found);
  return found.slice(0, TOLD);
}

function compare(before: Shape, one: Shape, path: string, found: string[]): void {
  if (found.length >= TOLD || before.isAny || before.kinds.size === 0) return;
  const where = path === "" ? "it" : path;
  const strange = KINDS.filter((kind) => one.kinds.has(kind) && !isKnown(before, kind));
  if (strange.length > 0)
    found.push(`${where} is ${strange.join(", ")} in place of ${[...before.kinds.keys()].join(", ")}`);
  if (before.items && one.items) compare(before.items, one.items, `${path}[]`, found);
  const objects = before.kinds.get("object") ?? 0;
  if (!one.fields || one.isOpen || before.isOpen || objects === 0) return;
  const { fields, others } = dividedNames(before, objects);
  // What may have any name says nothing about names.
  if (others) return;
  for (const [name, of] of fields) {
    const now = one.fields.get(name);
    if (now) compare(of, now, `${path}.${name}`, found);
    else if (of.seen === objects) found.push(`${path}.${name} is missing`);
  }
}

function isKnown({ kinds }: Shape, kind: Kind): boolean {
  return kinds.has(kind) || (kind === "integer" && kinds.has("number"));
}
