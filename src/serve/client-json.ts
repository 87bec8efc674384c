import {
  type JsonBounds,
  PLAIN_DEPTH,
  readJson,
  type ReadJson,
  type TextReader,
  type UntrustedText,
} from "../base/index.ts";

/** Levels of a body or a message around the values that it carries. */
const FRAME_DEPTH = 8;

/** What a body or a message may cost to parse, at every door: parsing cannot be interrupted. */
const BOUNDS: JsonBounds = { depth: PLAIN_DEPTH + FRAME_DEPTH, values: 65_536 };

/** What a client has sent, or why it is refused. */
export type ClientJson =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly fault: (ReadJson & { readonly ok: false })["fault"]; readonly message: string };

/** Reads what a client has sent, a body or a message. `what` names it for the client. */
export function readClientJson(
  what: string,
  text: UntrustedText,
  reader: TextReader,
): ClientJson | Promise<ClientJson> {
  const told = (read: ReadJson): ClientJson => (read.ok ? read : { ...read, message: SENTENCES[read.fault](what) });
  const read = readJson(text, BOUNDS, reader);
  return read instanceof Promise ? read.then(told) : told(read);
}

const SENTENCES = {
  syntax: (what: string) => `The ${what} is not JSON in UTF-8.`,
  depth: (what: string) => `A ${what} may be nested at most ${BOUNDS.depth} levels deep.`,
  values: (what: string) => `A ${what} may have at most ${BOUNDS.values} values.`,
  time: (what: string) => `The ${what} takes too long to read: send a smaller one.`,
};
