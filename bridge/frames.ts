/**
 * The frames that cross the bridge. A frame is text. Its first line is the header, a JSON object. If it carries a
 * value, a body follows: the value as JSON text. A header never contains a raw line break, so the first line break
 * separates the two. `README.md` beside this file says what each frame means.
 */

/** Version of the protocol. The host ends the conversation with a guest that announces another version. */
export const PROTOCOL_VERSION = 1;

/** Languages of programs: each has a guest. */
export type Language = "javascript" | "python";

/** Limits that a guest is told. The guest checks them so that a program gets an early, clear error; the host enforces them again. */
export interface GuestLimits {
  /** Calls in the whole execution. The guest sends at most one more, which the gate refuses. */
  readonly calls: number;
  /** Bytes, as UTF-8, of the printed text that is kept from the end, once `printedBytes` are spent. */
  readonly logBytes: number;
  /** Bytes, as UTF-8, of printed text that are sent as they are. */
  readonly printedBytes: number;
  /** Bytes of the largest frame the guest may send. */
  readonly frameBytes: number;
}

/** Body of a `start` frame. */
export interface StartBody {
  /** Source of the body of an async function. */
  readonly program: string;
  /** Names of the tools this program may call, as safe dotted paths. */
  readonly tools: readonly string[];
  /**
   * For each tool whose input has exactly one required field, that field's name. In a language with
   * positional arguments the first argument is this field. Other languages are not sent it.
   */
  readonly positional?: Readonly<Record<string, string>>;
  /** Names of those `tools` whose calls are answered with streams of items; missing if there are none. */
  readonly streams?: readonly string[];
}

/** Body of an `answer` frame whose header says `ok: false`. */
export interface ErrorBody {
  readonly code: string;
  readonly tool: string;
  readonly message: string;
  /** What the tool gave with its failure. */
  readonly value?: unknown;
}

/** Body of a `settled` frame whose header says `ok: false`: the program's error, as the guest describes it. */
export interface FaultBody {
  readonly name: string;
  readonly message: string;
  /** Code of the tool's error or of the guest's check, if the program threw such an error. */
  readonly code?: string;
  readonly tool?: string;
  /** A tool whose promise the program used as if it were the result. The program then failed with another error. */
  readonly unawaited?: string;
  /** Position in the source that the guest was given, both counted from 1. */
  readonly line?: number;
  readonly column?: number;
}

/** Frames that the host sends. `now` is milliseconds since 1970, and never runs backwards. */
export type HostFrame =
  | {
      readonly kind: "start";
      readonly protocol: typeof PROTOCOL_VERSION;
      readonly now: number;
      /** 32 hexadecimal digits. */
      readonly seed: string;
      readonly limits: GuestLimits;
      readonly body: string;
    }
  | { readonly kind: "answer"; readonly now: number; readonly id: number; readonly ok: boolean; readonly body: string }
  | {
      readonly kind: "items";
      readonly now: number;
      readonly id: number;
      readonly count: number;
      /** UTF-8 bytes of the items as they were sent, each with the comma or the bracket after it. */
      readonly bytes: number;
      /** A JSON array of `count` items. Missing only in a journal that does not keep it. */
      readonly body?: string;
    }
  | { readonly kind: "fire"; readonly now: number; readonly id: number }
  | { readonly kind: "stop"; readonly now: number };

export type GuestFrame =
  | { readonly kind: "ready"; readonly protocol: number; readonly language: Language }
  | {
      readonly kind: "call";
      readonly id: number;
      readonly tool: string;
      /** Of `save_artifact` only: the name under which the body is kept. */
      readonly name?: string;
      readonly body: string;
    }
  | { readonly kind: "next"; readonly id: number }
  | { readonly kind: "cancel"; readonly id: number }
  | { readonly kind: "timer"; readonly id: number; readonly ms: number }
  | { readonly kind: "clear"; readonly id: number }
  | {
      readonly kind: "output";
      readonly stream: OutputStream;
      /** Lines that the guest dropped just before this text because the log was full. */
      readonly dropped: number;
      /** JSON string. */
      readonly body: string;
    }
  | { readonly kind: "unreplayable"; readonly cause: UnreplayableCause }
  | { readonly kind: "turn_end"; readonly open: number }
  | {
      readonly kind: "settled";
      readonly ok: boolean;
      /** Sentences about what the guest changed to make the value JSON. */
      readonly notes: readonly string[];
      /** The value, or a `FaultBody`; absent if the program returned nothing. */
      readonly body?: string;
    };

export type OutputStream = "stdout" | "stderr";

/** What a program used that a replay cannot reproduce. */
export type UnreplayableCause = (typeof UNREPLAYABLE_CAUSES)[number];
export const UNREPLAYABLE_CAUSES = ["files", "threads", "processes", "network", "native code"] as const;

export function frameText(frame: HostFrame | GuestFrame): string {
  if (!("body" in frame) || frame.body === undefined) return JSON.stringify(frame);
  const { body, ...header } = frame;
  return `${JSON.stringify(header)}\n${body}`;
}

/** Text of an `answer` frame. It is the most frequent frame and has the largest bodies, so its text is built without `JSON.stringify`. */
export function answerText(now: number, id: number, ok: boolean, body: string): string {
  return answerHead(now, id, ok) + body;
}

/** What precedes the body of an `answer` frame. */
export function answerHead(now: number, id: number, ok: boolean): string {
  return `{"kind":"answer","now":${now},"id":${id},"ok":${ok}}\n`;
}

/** What precedes the body of an `items` frame; the whole frame, where a journal does not keep the body. */
export function itemsHead(now: number, id: number, count: number, bytes: number): string {
  return `{"kind":"items","now":${now},"id":${id},"count":${count},"bytes":${bytes}}`;
}

export function splitFrame(text: string): { readonly header: string; readonly body: string | undefined } {
  const end = text.indexOf("\n");
  return end < 0 ? { header: text, body: undefined } : { header: text.slice(0, end), body: text.slice(end + 1) };
}
