import { exactText, fieldOf, type Fields, isFields, parsedJson, textOf } from "../../base/index.ts";
import type { ModelUsage } from "../model.ts";

/** Longest text of a body that is quoted or looked at for words, in UTF-16 code units. */
const HEAD_LENGTH = 64 * 1024;

/** An error that a server sent in place of a reply, or in the midst of one. */
export class ErrorReply extends Error {
  override readonly name = "ErrorReply";
  readonly error: unknown;
  readonly status: number | undefined;
  readonly usage: ModelUsage | undefined;

  constructor(error: unknown, usage?: ModelUsage) {
    super(wordsOf(error));
    this.error = error;
    this.usage = usage;
    // Servers that answer 200 put the status of the error here.
    const code = Number(fieldOf(error, "code") ?? fieldOf(error, "status"));
    this.status = code >= 400 && code < 600 ? code : undefined;
  }
}

/** A body that is no reply: a page, or JSON of another kind. */
export class NoReply extends Error {
  override readonly name = "NoReply";

  constructor({ status, headers }: Response, words: string) {
    super(`Status ${status}, ${headers.get("content-type") ?? "no content type"}: ${words}`);
  }
}

/** A whole body, or an event of a stream: a server may send either, whichever it was asked for. */
export type ReplyPart = { readonly whole: Fields } | { readonly event: unknown };

/** Reads a body that comes in the chunks of `boundedFetch`: a document in one, or each event in its own. */
export async function* readParts(response: Response): AsyncGenerator<ReplyPart> {
  let head = "";
  let hasEvents = false;
  for await (const chunk of response.body ?? []) {
    const text = new TextDecoder().decode(chunk);
    if (!hasEvents && /^\s*[{[]/.test(text)) return yield* documentParts(response, text);
    if (head.trim() === "") head = text.slice(0, HEAD_LENGTH);
    const { name, data } = eventIn(text);
    if (data.trim().toUpperCase() === "[DONE]") return;
    if (isKeepAlive(name, data)) continue;
    hasEvents = true;
    const event = valueIn(data);
    if (event === undefined && name === "error") throw new ErrorReply(data);
    // The stream ended within an event.
    if (event === undefined && !/[\r\n]$/.test(text)) return;
    if (event === undefined) throw new SyntaxError(`An event of its stream is no JSON: ${data.slice(0, HEAD_LENGTH)}`);
    if (name === "error") throw new ErrorReply(errorIn(event) ?? event);
    yield eventPart(event);
  }
  const isOther = !hasEvents && head.trim() !== "" && !/^(?:data|event|id|retry)?:/.test(head.trimStart());
  // A page is told by its title, or by its text.
  if (isOther)
    throw new NoReply(response, /<title>([^<]*)/i.exec(head)?.[1]?.trim() || head.replaceAll(/<[^<>]*>/g, " "));
}

function eventPart(event: unknown): ReplyPart {
  const isBare = isFields(event) && Object.keys(event).every((name) => SAYING.has(name));
  const error = errorIn(event) ?? (isBare && wordsIn(event) !== undefined ? event : undefined);
  if (error !== undefined) throw new ErrorReply(error);
  return { event };
}

/** Fields of an event that says nothing but why there is no more. */
const SAYING: ReadonlySet<string> = new Set(["message", "detail", "msg", "code", "status", "success"]);

/** With the digits of whole numbers that no double holds: a call would be made with another number than the model wrote. */
function valueIn(text: string): unknown {
  return parsedJson(exactText(text));
}

function* documentParts(response: Response, text: string): Generator<ReplyPart> {
  // Some servers end a document like a stream.
  const value = valueIn(text) ?? valueIn(text.slice(0, Math.max(0, text.indexOf("\ndata:"))));
  if (Array.isArray(value)) for (const event of value as readonly unknown[]) yield eventPart(event);
  else if (!isFields(value)) throw new NoReply(response, text);
  else if (errorIn(value) !== undefined && typeof value.status !== "string") throw new ErrorReply(errorIn(value));
  else yield { whole: value };
}

export function noReply(response: Response, body: unknown): NoReply {
  return new NoReply(response, wordsOf(body));
}

/** The name and the data of an event. JSON without `data:` is an error that a server did not expect. */
function eventIn(text: string): { readonly name: string; readonly data: string } {
  const lines = text.split(/\r\n|\n|\r/);
  const valuesOf = (field: string) =>
    lines.filter((line) => line.startsWith(field)).map((line) => line.slice(field.length).replace(/^ /, ""));
  const name = valuesOf("event:").at(-1) ?? "";
  const data = valuesOf("data:").join("\n");
  return { name, data: data === "" && text.startsWith("{") ? text : data };
}

const KEEP_ALIVE = /^(?:(?:ping|keep-?alive|heartbeat)\b[^{]{0,100}|\w{1,40} processing)$/i;

/** Proxies send nothing, a word, the time, or a comment that one of them made data of. */
function isKeepAlive(name: string, data: string): boolean {
  const text = data.trim();
  return text === "" || text.startsWith(":") || KEEP_ALIVE.test(text) || KEEP_ALIVE.test(name);
}

function errorIn(value: unknown): unknown {
  const error = fieldOf(value, "error");
  const kind = textOf(value, "type") ?? textOf(value, "event_type");
  if (kind === "error") return error ?? value;
  return isFields(error) || (typeof error === "string" && error !== "") ? error : undefined;
}

function wordsOf(value: unknown): string {
  if (typeof value === "string") return value;
  return wordsIn(value) ?? (JSON.stringify(value) ?? "").slice(0, HEAD_LENGTH);
}

function wordsIn(value: unknown): string | undefined {
  return ["message", "detail", "msg"].map((name) => textOf(value, name)).find((text) => text !== undefined);
}
