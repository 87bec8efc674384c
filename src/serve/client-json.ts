import {
  type JsonBounds,
  lossText,
  type Paths,
  PLAIN_DEPTH,
  readJson,
  type ReadSound,
  type TextReader,
  type UntrustedText,
} from "../base/index.ts";

/** Levels of a body or a message around the values that it carries. */
const FRAME_DEPTH = 8;

/** What a body or a message may cost to parse, at every door: parsing cannot be interrupted. */
const BOUNDS: JsonBounds = { depth: PLAIN_DEPTH + FRAME_DEPTH, values: 65_536 };

/**
 * What reaches tools, programs and models as a value: arguments and the id of an MCP message, decisions and results, and inputs in
 * messages of Anthropic's clients. Elsewhere, like in a schema or a setting, the nearest double says what was meant.
 */
const VALUES: Paths = [["id"], ["params", "arguments"], ["decisions"], ["results"], ["messages"]];

/** What a client has sent, or why it is refused. */
export type ClientJson =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly fault: (ReadSound & { readonly ok: false })["fault"]; readonly message: string };

/** Reads what a client has sent, a body or a message. `what` names it for the client. */
export function readClientJson(
  what: string,
  text: UntrustedText,
  reader: TextReader,
): ClientJson | Promise<ClientJson> {
  const toClientJson = (read: ReadSound): ClientJson =>
    read.ok
      ? read
      : {
          ...read,
          message: read.fault === "lost" ? `${lossText(read.lost)}.` : SENTENCES[read.fault].replace("WHAT", what),
        };
  const read = readJson(text, BOUNDS, reader, VALUES);
  return read instanceof Promise ? read.then(toClientJson) : toClientJson(read);
}

/** `WHAT` stands for what was read. */
const SENTENCES = {
  syntax: "The WHAT is not JSON in UTF-8.",
  depth: `A WHAT may be nested at most ${BOUNDS.depth} levels deep.`,
  values: `A WHAT may have at most ${BOUNDS.values} values.`,
  time: "The WHAT takes too long to read: send a smaller one.",
};
