import { callbackRule, bareFunction } from "../../base/index.ts";

/**
 * Where a text goes. `model`: into a conversation, or into the report of a program, which a model reads. `journal`: into a
 * record. `log`: to the logger, to `onEvent`, to the console.
 */
export type RedactTarget = "model" | "journal" | "log";

/** A field of a text that is JSON. */
export interface RedactField {
  /** The names that lead to it, with dots between: `user.password`. At most the last 200 characters. */
  readonly path: string;
  /** Where its value stands in `text`. */
  readonly start: number;
  readonly end: number;
}

/** A text that is about to leave. */
export interface RedactRequest {
  /**
   * The text as it is. For JSON: its names, strings and numbers, without quotation marks and escapes, one field a line,
   * as `name: value`. JSON with more than 50,000 names and values comes in several requests.
   */
  readonly text: string;
  /** The fields, if the text is JSON. */
  readonly fields?: readonly RedactField[];
  readonly to: RedactTarget;
  /** The tool whose call the text belongs to; missing if it belongs to no call. */
  readonly tool?: string;
  readonly callId?: string;
}

/** A part of a text that must not leave: from `start` up to `end`, in UTF-16 units. */
export interface RedactFinding {
  readonly start: number;
  readonly end: number;
  /** What it is, for the reader: `aws-key`. */
  readonly what: string;
}

/**
 * Finds what must not leave. The runtime puts `[redacted 40 characters: aws-key]` in its place. If the function throws,
 * gives anything else or takes longer than 10 seconds, the whole text is left out.
 */
export type Redact = (request: RedactRequest) => readonly RedactFinding[] | Promise<readonly RedactFinding[]>;

export const REDACT = callbackRule(
  bareFunction<Redact>("a function that finds what must not leave, like redactSecrets()"),
  "quoting",
);
