import { type BoundedJson, type JsonBounds, readBoundedJson } from "../values/json/bounded-json.ts";
import { PLAIN_DEPTH } from "../values/json/plain-data.ts";
import type { Lane } from "../values/slice-scheduler.ts";

/** Levels of a body or a message around the values that it carries. */
const FRAME_DEPTH = 8;

/** What a body or a message may cost to parse, at every door: parsing cannot be interrupted. */
const BOUNDS: JsonBounds = { depth: PLAIN_DEPTH + FRAME_DEPTH, values: 65_536 };

/** What a client has sent, or why it is refused. */
export type ClientJson =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly fault: (BoundedJson & { readonly ok: false })["fault"]; readonly message: string };

/** Reads what a client has sent, a body or a message. `what` names it for the client. */
export function readClientJson(what: string, text: string, lane: Lane): ClientJson | Promise<ClientJson> {
  const told = (read: BoundedJson): ClientJson => (read.ok ? read : { ...read, message: sentence(what, read.fault) });
  const read = readBoundedJson(text, BOUNDS, lane);
  return read instanceof Promise ? read.then(told) : told(read);
}

function sentence(what: string, fault: keyof JsonBounds | "syntax"): string {
  if (fault === "syntax") return `The ${what} is not JSON in UTF-8.`;
  return fault === "depth"
    ? `A ${what} may be nested at most ${BOUNDS.depth} levels deep.`
    : `A ${what} may have at most ${BOUNDS.values} values.`;
}
