import { randomBytes } from "node:crypto";
import {
  answerHead,
  itemsHead,
  answerText,
  frameText,
  type Language,
  PROTOCOL_VERSION,
  type StartBody,
} from "../../../bridge/frames.ts";
import type { Closes } from "../../../bridge/turn-reader.ts";
import type { Answer } from "../../gate/answer.ts";
import type { Batch } from "../../gate/streams/stream-reader.ts";
import { listOf, PortcullisError } from "../../base/index.ts";
import { inputJson } from "../../tools/tool-schemas.ts";
import type { Tool } from "../../tools/tool.ts";
import type { Limits } from "../limits.ts";
import type { EventHead } from "../from-journal/execution-state.ts";

export interface GuestEvent {
  readonly head: EventHead;
  readonly text: string;
  /** The same text, if it is large: to join it would be a copy. */
  readonly pieces?: readonly string[];
  /** Of a batch of a stream: memory that its call's share holds for it. */
  readonly heldBytes?: number;
  /** What the journal keeps of the event, if that is not all. */
  readonly recorded?: Pick<GuestEvent, "head" | "text">;
  /** Of the start: names of the tools whose calls are streams. */
  readonly streams?: readonly string[];
}

/** Length from which a text is sent in pieces, in UTF-16 code units. */
const LARGE_LENGTH = 64 * 1024;

export function startEvent(
  now: number,
  program: string,
  tools: readonly Tool[],
  { limits, language }: { readonly limits: Limits; readonly language: Language },
): GuestEvent {
  const { calls, logBytes, printedBytes, frameBytes } = limits;
  const streams = tools.filter(({ stream }) => stream).map(({ name }) => name);
  const body: StartBody = {
    program,
    tools: tools.map(({ name }) => name),
    positional: language === "python" ? positionalFields(tools) : undefined,
    streams: streams.length > 0 ? streams : undefined,
  };
  const text = frameText({
    kind: "start",
    protocol: PROTOCOL_VERSION,
    now,
    seed: randomBytes(16).toString("hex"),
    limits: { calls, logBytes, printedBytes: Math.max(printedBytes, logBytes), frameBytes },
    body: JSON.stringify(body),
  });
  return { head: { kind: "start", now }, text, streams };
}

/** The names of the tools whose calls are streams, of the body of a start that a journal holds. Throws `journal_invalid` for another text. */
export function streamsOf(body: string): readonly string[] {
  try {
    const { streams } = JSON.parse(body) as Partial<StartBody>;
    return Array.isArray(streams) ? streams : [];
  } catch (error) {
    throw new PortcullisError("journal_invalid", "The journal holds a start whose body cannot be read.", {
      cause: error,
    });
  }
}

export function answerEvent(now: number, id: number, answer: Answer): GuestEvent {
  const { ok } = answer;
  const body = ok ? answer.text : errorBody(answer);
  // The items of a stream were counted as they were handed over.
  const resultBytes = !ok ? 0 : answer.items === undefined ? answer.bytes : body.length;
  const head = { kind: "answer", now, id, resultBytes } as const;
  // V8 joins the two parts of a large text only when it is read, which the journal in memory does not.
  const text = answerText(now, id, ok, body);
  return { head, text, pieces: body.length < LARGE_LENGTH ? undefined : [answerHead(now, id, ok), body] };
}

/** The value is text already. */
function errorBody({ code, tool, message, value }: Answer & { readonly ok: false }): string {
  const body = JSON.stringify({ code, tool, message });
  return value === undefined ? body : `${body.slice(0, -1)},"value":${value}}`;
}

/** A batch of the stream that answers a call. `isKept`: whether the journal keeps its items. */
export function itemsEvent(
  now: number,
  id: number,
  { body, count, bytes, heldBytes }: Batch,
  isKept: boolean,
): GuestEvent {
  const head = { kind: "items", now, id, count, bytes, isKept } as const;
  const frame = itemsHead(now, id, count, bytes);
  const first = `${frame}\n`;
  const text = first + body;
  return {
    head,
    text,
    heldBytes,
    pieces: body.length < LARGE_LENGTH ? undefined : [first, body],
    recorded: isKept ? undefined : { head, text: frame },
  };
}

export function fireEvent(now: number, id: number): GuestEvent {
  const head = { kind: "fire", now, id } as const;
  return { head, text: frameText(head) };
}

export function stopEvent(now: number): GuestEvent {
  const head = { kind: "stop", now } as const;
  return { head, text: frameText(head) };
}

/** What an event does to what is open in the guest. */
export function closesOf({ head, streams }: GuestEvent): Closes {
  if (streams) return { streams };
  if (head.kind === "items") return { batchOf: head.id };
  if ("id" in head) return head.id;
  return head.kind === "stop" ? "calls" : undefined;
}

const fieldOf = new WeakMap<Tool, string | undefined>();

/** For each tool whose input has exactly one required field, the name of that field: a positional argument gives its value. */
function positionalFields(tools: readonly Tool[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    tools.flatMap((tool) => {
      const field = positionalField(tool);
      return field === undefined ? [] : [[tool.name, field]];
    }),
  );
}

function positionalField(tool: Tool): string | undefined {
  if (!fieldOf.has(tool)) {
    // Schemas come from other libraries and servers, so every part of them may have any type.
    const [field, ...others] = listOf(inputJson(tool), "required");
    fieldOf.set(tool, typeof field === "string" && others.length === 0 ? field : undefined);
  }
  return fieldOf.get(tool);
}
