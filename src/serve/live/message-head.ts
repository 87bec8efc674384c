import { MAX_TURN_CALLS } from "../../conversations/from-journal/index.ts";
import type { MessageRecord } from "../../journal/record.ts";
import { RUN_PROGRAM } from "../../tools/tool-name.ts";
import { entryTexts, fieldTexts, parsedJson, type SlicedWork } from "../../base/index.ts";

/** Characters of a usage that is read. */
const USAGE_LENGTH = 64 * 1024;

/** What events tell of a message, and what a stream keeps of it. */
export interface MessageHead {
  /** What the model or the user said. Nothing if only the host told the model something. */
  readonly text: string | undefined;
  /** JSON as it was read: a journal may come from elsewhere. */
  readonly usage: unknown;
  /** The calls of a model's turn. `tool` is `run_program` for programs. */
  readonly calls: readonly { readonly id: string; readonly tool: string }[];
  /** Ids of the calls that have results. */
  readonly answered: readonly string[];
}

/** Reads a message. What a call was given and what it returned may be large, and is passed over. */
export function* messageHead({ from, message }: Pick<MessageRecord, "from" | "message">): SlicedWork<MessageHead> {
  const head: MessageHead = { text: undefined, usage: undefined, calls: [], answered: [] };
  if (from === "host") return { ...head, answered: yield* answeredIn(message) };
  if (from === "user") return { ...head, text: yield* saidIn(message) };
  const fields = yield* fieldTexts(message.trim());
  const usage = fields?.get("usage") ?? "";
  return {
    ...head,
    text: textIn(fields, "text") ?? "",
    usage: usage.length > USAGE_LENGTH ? undefined : parsedJson(usage),
    calls: yield* callsIn(fields?.get("calls")),
  };
}

function* answeredIn(message: string): SlicedWork<readonly string[]> {
  const answered: string[] = [];
  for (const result of (yield* entryTexts(message.trim())) ?? [])
    answered.push(textIn(yield* fieldTexts(result.trim()), "callId") ?? "");
  return answered;
}

/** The texts of the user's messages, each on lines of its own; images and files have none. */
function* saidIn(list: string): SlicedWork<string | undefined> {
  const texts: string[] = [];
  let isByUser = false;
  for (const said of (yield* entryTexts(list.trim())) ?? []) {
    const fields = yield* fieldTexts(said.trim());
    if (textIn(fields, "by") !== "user") continue;
    isByUser = true;
    const whole = textIn(fields, "message");
    if (whole !== undefined) texts.push(whole);
    else
      for (const part of (yield* entryTexts(fields?.get("message")?.trim() ?? "")) ?? [])
        texts.push(textIn(yield* fieldTexts(part.trim()), "text") ?? "");
  }
  return isByUser ? texts.filter((text) => text !== "").join("\n") : undefined;
}

function* callsIn(list = ""): SlicedWork<MessageHead["calls"]> {
  const calls: MessageHead["calls"][number][] = [];
  for (const call of (yield* entryTexts(list.trim(), MAX_TURN_CALLS)) ?? []) {
    const fields = yield* fieldTexts(call.trim());
    calls.push({ id: textIn(fields, "id") ?? "", tool: textIn(fields, "tool") ?? RUN_PROGRAM });
  }
  return calls;
}

function textIn(fields: ReadonlyMap<string, string> | undefined, name: string): string | undefined {
  const text = fields?.get(name)?.trim();
  const value = text?.startsWith('"') ? parsedJson(text) : undefined;
  return typeof value === "string" ? value : undefined;
}
