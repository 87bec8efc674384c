import type { Lane, SlicedWork } from "../slice-scheduler.ts";
import { JsonScanner, newCount } from "./json-scanner.ts";

/** Characters that are measured between two chances to yield the host's thread. */
const STEP_LENGTH = 64 * 1024;

/** What parsing costs beside the length of the text. */
export interface JsonBounds {
  /** Levels of nesting. */
  readonly depth: number;
  /** Values in all, the text itself included. */
  readonly values: number;
}

/** The value of a text, or why it has none: it exceeds a bound, or is no JSON. */
export type BoundedJson =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly fault: keyof JsonBounds | "syntax" };

/** Reads JSON of a client: measures it before parsing, in slices. A short text is read at once, without a promise. */
export function readBoundedJson(text: string, bounds: JsonBounds, lane: Lane): BoundedJson | Promise<BoundedJson> {
  const parse = (fault: keyof JsonBounds | undefined) =>
    fault === undefined ? lane.run(() => parsed(text)) : ({ ok: false, fault } as const);
  const measured = lane.work(exceeded(text, bounds));
  return measured instanceof Promise ? measured.then(parse) : parse(measured);
}

function parsed(text: string): BoundedJson {
  try {
    return { ok: true, value: JSON.parse(text) as unknown };
  } catch {
    return { ok: false, fault: "syntax" };
  }
}

/** The first bound that a text exceeds. */
function* exceeded(text: string, bounds: JsonBounds): SlicedWork<keyof JsonBounds | undefined> {
  const scanner = new JsonScanner(text);
  const count = newCount();
  while (scanner.at < text.length) {
    scanner.pass(count, scanner.at + STEP_LENGTH);
    if (count.depth > bounds.depth) return "depth";
    if (count.values > bounds.values) return "values";
    yield;
  }
  return undefined;
}
