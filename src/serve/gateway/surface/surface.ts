import type { JsonSchema } from "../../../tools/json-schema/index.ts";
import type { TextFormat } from "../../../tools/text-format.ts";
import type { Caller } from "../../../tools/tool.ts";
import { type Fields, PortcullisError, type SlicedWork, type UntrustedText } from "../../../base/index.ts";
import type { ContentPart, ModelCall, ModelSettings, ModelUsage, UserMessage } from "../../../models/model.ts";
import type { SealKind } from "../carried/seals.ts";

/*
 * A surface is a provider's protocol as this package speaks it to clients: the other end of what an adapter speaks to the
 * provider. It reads what a client asks, and writes what it is answered. It runs nothing and decides nothing.
 */

/** A tool of the client's, as it declares it. */
export interface AskedTool {
  readonly name: string;
  /** A group of tools whose calls carry its name beside that of the tool. */
  readonly namespace?: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  /** Its input is one text, of this format, and `inputSchema` says nothing. */
  readonly textFormat?: TextFormat;
  readonly outputSchema?: JsonSchema;
  readonly callers: readonly Caller[];
  /** The model is told of it once a search has found it. */
  readonly isDeferred: boolean;
  /** Where the request declares it, for errors. */
  readonly place: string;
}

/** What a client gives as the result of a call. */
export interface AskedAnswer {
  readonly text: UntrustedText;
  readonly isError: boolean;
  readonly parts: readonly ContentPart[];
}

/** A turn of a model, as a client repeats it. */
export interface AskedTurn {
  /** Said since the turn before. */
  readonly userMessages: readonly UserMessage[];
  readonly text: string;
  /** Calls of the client's tools by their names in the request, and programs. */
  readonly calls: readonly ModelCall[];
  /** By the ids of calls. */
  readonly results: ReadonlyMap<string, AskedAnswer>;
}

/** What the history of a request says. */
export interface AskedHistory {
  /** What the system says, each text with its place after messages of the user. */
  readonly instructions: readonly string[];
  readonly turns: readonly AskedTurn[];
  /** Said after the last turn. */
  readonly userMessages: readonly UserMessage[];
  /**
   * The answers that follow the last turn, by the ids of calls: of the turn itself, and of its programs. Answers of the
   * turn's own calls are in its `results` too.
   */
  readonly answers: ReadonlyMap<string, AskedAnswer>;
  /** Ids of the calls of programs that wait for `answers`. */
  readonly ofPrograms: ReadonlySet<string>;
  /** Ids of the last turn's programs without a result. */
  readonly openPrograms: readonly string[];
  /** Whether the last that was read is the model's own. */
  readonly endsWithModel: boolean;
}

/** The tools of a request. */
export interface AskedTools {
  readonly tools: readonly AskedTool[];
  /** Whether the model may run programs. */
  readonly programs: boolean;
}

/** A request of a client, in this package's words. */
export interface SurfaceRequest extends AskedTools, Omit<AskedHistory, "instructions" | "endsWithModel"> {
  /** As the client names it. */
  readonly model: string;
  readonly isStreamed: boolean;
  readonly instructions: string | undefined;
  readonly settings: ModelSettings;
  /** What names the state that the server keeps, as the client sends it. */
  readonly state: string | undefined;
  /** The answer that this one follows, if the server has the history. */
  readonly previous?: string | undefined;
  /** Whether the client may refer to the answer later; missing if clients of the surface do not say that. */
  readonly isStored?: boolean;
  /** What an answer repeats of the request. */
  readonly echo: Fields;
}

/** One piece of an answer, in its order. Ids are those that the client sees. */
export type AnswerPart = { readonly key: string; readonly id: string } & (
  | { readonly type: "text" | "reasoning"; readonly text: string }
  | {
      readonly type: "call";
      readonly tool: string;
      readonly namespace?: string | undefined;
      readonly inputText: string;
      /** Id of the program that calls. */
      readonly program?: string | undefined;
    }
  /** `state` names what the server keeps for it. */
  | { readonly type: "program"; readonly source: string; readonly state: string }
  | ProgramEnded
);

export interface ProgramEnded {
  readonly type: "program_ended";
  readonly text: string;
  readonly isError: boolean;
  /** Whether a limit of time stopped it. */
  readonly isLate: boolean;
}

/** A part that clients are sent while the model writes it. */
export type SpokenPart = Extract<AnswerPart, { readonly type: "text" | "reasoning" }>;
export type WholePart = Exclude<AnswerPart, SpokenPart>;

export function isSpoken(part: AnswerPart): part is SpokenPart {
  return part.type === "text" || part.type === "reasoning";
}

/** Why an answer ends. `stopped`: the server goes on if the client asks again without new input. */
export type ReplyEnd =
  | { readonly type: "answered" | "called" | "stopped" }
  | { readonly type: "cut_off" | "refused"; readonly reason: string };

/** What is known of an answer from its beginning. */
export interface ReplyHead {
  readonly id: string;
  /** As the client named it. */
  readonly model: string;
  readonly echo: Fields;
  /** Milliseconds since 1970. */
  readonly at: number;
}

export interface ReplyFacts extends ReplyHead {
  /** The state that the server keeps for a program, and until when, in milliseconds since 1970. */
  readonly state: { readonly id: string; readonly expiresAt: number } | undefined;
  readonly usage: ModelUsage;
  /** What the programs of the answer have moved without the model: UTF-8 bytes of what they read and of what the model was given. */
  readonly programs: ProgramBytes;
}

/** As both vendors' answers have it. */
export interface ProgramBytes {
  readonly calls: number;
  readonly bytes_in: number;
  readonly bytes_out: number;
}

/** What is wrong with a request, or why it has no answer. Each surface writes it with its own words for `kind`. */
export type RefusalKind =
  | "invalid"
  | "unauthorized"
  | "forbidden"
  | "not_found"
  | "too_large"
  | "rate_limited"
  | "overloaded"
  | "failed"
  | "timed_out";

export interface SurfaceRefusal {
  readonly kind: RefusalKind;
  readonly message: string;
  /** The part of the request that is wrong, like `tools.0.name`. */
  readonly place?: string | undefined;
  /** The surface's own code for it. */
  readonly code?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** A request that is refused while it is read. */
export class RefusedAsk extends Error {
  readonly refusal: SurfaceRefusal;

  constructor(refusal: SurfaceRefusal) {
    super(refusal.message);
    this.refusal = refusal;
  }
}

/** What the work gives. Throws `RefusedAsk` if this package refuses the part of a request that is at the place. */
export function orRefused<Value>(place: string, work: () => Value): Value {
  try {
    return work();
  } catch (error) {
    throw PortcullisError.is(error) ? invalidField(place, error.message.slice(0, 1000)) : error;
  }
}

export function invalidField(place: string, why: string, code?: string): RefusedAsk {
  return new RefusedAsk({ kind: "invalid", place, message: `${place}: ${why}`, code });
}

/** Writes the events of a streamed answer, in the order of its parts. Each method gives text to send; the end may repeat all of it. */
export interface ReplyWriter {
  readonly begin: () => string;
  /** A text, or a summary of reasoning, begins. It has no words yet. */
  readonly open: (part: SpokenPart) => string;
  /** Further words of it, after which it has those of `part`. */
  readonly delta: (part: SpokenPart, text: string) => string;
  readonly close: (part: SpokenPart) => string;
  readonly whole: (part: WholePart) => string;
  readonly end: (end: ReplyEnd, facts: ReplyFacts) => SlicedWork<string>;
  readonly fail: (refusal: SurfaceRefusal, requestId: string) => string;
}

export function eventText(type: string, data: string | Fields): string {
  return `event: ${type}\ndata: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;
}

/** What the ids of a surface begin with, by what they stand for. */
export type IdPrefixes = Readonly<Record<SealKind, string>>;

/** Items of earlier answers that a request refers to, as their surface writes them, by their ids. */
export type StoredItems = ReadonlyMap<string, Fields>;

export interface Surface {
  /** Reads a request. `counts`: one that is not to be answered, but counted. Throws `RefusedAsk`. */
  readonly read: (body: unknown, headers: Headers, counts?: boolean, stored?: StoredItems) => SurfaceRequest;
  readonly reply: (parts: readonly AnswerPart[], end: ReplyEnd, facts: ReplyFacts) => unknown;
  readonly writer: (head: ReplyHead) => ReplyWriter;
  readonly refusal: (refusal: SurfaceRefusal, requestId: string) => { readonly status: number; readonly body: unknown };
  /** The answer to a request that is counted. */
  readonly counted: (tokens: number) => unknown;
  /** The header in which the provider gives the id of a request. */
  readonly requestIdHeader: string;
  readonly ids: IdPrefixes;
  /** An item as it is referred to; missing if requests refer to none. */
  readonly item?: (part: AnswerPart) => Fields;
  /** The ids of the items to which a request refers. */
  readonly references?: (body: unknown) => readonly string[];
}

/** The name of a tool in a group, as calls in `turns` have it. */
export function groupedName(namespace: string, name: string): string {
  return `${namespace}.${name}`;
}
