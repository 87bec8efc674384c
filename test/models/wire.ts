import type { Model } from "../../src/models/index.ts";
import { type Asked, eventText, type Given, type ServerEvent, startLoopback } from "./loopback.ts";

/** One call as a server is to make it; `tool` is the name on the wire. */
export interface WireCall {
  readonly id?: string;
  readonly tool?: string;
  readonly input?: unknown;
  /** In place of `input`, for what is no JSON. */
  readonly inputText?: string;
  /** The one text that a text tool takes, handed over in the provider's way. */
  readonly text?: string;
  /** Source of a program, handed over in the provider's way. */
  readonly program?: string;
}

export interface WireTurn {
  readonly text?: string;
  /** A summary of reasoning, where the protocol has one. */
  readonly reasoning?: string;
  readonly calls?: readonly WireCall[];
  readonly end?: "cut_off" | "refused";
  /** None of its calls can be made, so that it is not sent again. */
  readonly isDropped?: true;
  /** In the provider's own words, in place of everything else. */
  readonly raw?: Readonly<Record<string, unknown>>;
  /** How it is sent, if not whole: it breaks, ends too soon as if that were all, or never ends. */
  readonly sent?: "broken" | "short" | "open";
}

export interface WireFault {
  readonly fault: "status" | "silent" | "stalled" | "empty" | "oversize" | "garbage" | "event";
  readonly status?: number;
  readonly headers?: Record<string, string>;
}

export type WireStep = WireTurn | WireFault | ((asked: Asked) => WireTurn);

/** How one provider's server speaks, and what it refuses. */
export interface Wire {
  readonly key: string;
  readonly model: (options: WireModelOptions & { readonly baseUrl: string; readonly apiKey: string }) => Model;
  readonly isStreamed: (asked: Asked) => boolean;
  readonly keyOf: (asked: Asked) => string | undefined;
  /** What is wrong with a request, in words; undefined where the provider would take it. */
  readonly refuse: (asked: Asked, state: WireState) => string | undefined;
  readonly json: (turn: WireTurn, number: number) => unknown;
  readonly events: (turn: WireTurn, number: number) => readonly ServerEvent[];
  /** How many events at the end of a stream say that it is whole. */
  readonly lastEvents: number;
  readonly error: (status: number, message: string) => unknown;
  /** An error in the midst of a stream. */
  readonly errorEvent: ServerEvent;
}

export interface WireModelOptions {
  readonly stream?: boolean;
  readonly retries?: number;
  readonly retryMs?: number;
  readonly maxOutputTokens?: number;
  readonly strict?: boolean | "all";
  readonly fetch?: typeof globalThis.fetch;
  readonly timeoutMs?: number;
}

/** What a server remembers of its conversation. */
export interface WireState {
  readonly asked: readonly Asked[];
  /** Replies so far as JSON values, the latest last, without those that were cut off or refused. */
  readonly replies: readonly unknown[];
  /** Whether the tools may change between turns. */
  readonly redeclares: boolean;
}

export interface Served extends AsyncDisposable {
  readonly asked: readonly Asked[];
  readonly refusals: readonly string[];
  readonly abandoned: Promise<void>;
  /** Resolves once a client waits for an answer that will not come. */
  readonly silenced: Promise<void>;
  readonly url: string;
  readonly model: (options?: WireModelOptions & { readonly apiKey?: string; readonly path?: string }) => Model;
}

/** Serves a script in a provider's protocol, turn by turn, and refuses requests that the provider would refuse. */
export async function serve(
  wire: Wire,
  script: readonly WireStep[],
  { redeclares = false }: { readonly redeclares?: boolean } = {},
): Promise<Served> {
  const asked: Asked[] = [];
  const replies: unknown[] = [];
  const refusals: string[] = [];
  let at = 0;
  const { promise: silenced, resolve: onSilenced } = Promise.withResolvers<void>();
  const refused = (status: number, message: string): Given => {
    refusals.push(message);
    return { type: "json", status, body: wire.error(status, message) };
  };
  const server = await startLoopback((one): Given => {
    if (wire.keyOf(one) !== wire.key) return refused(401, "invalid key");
    if (!isWellFormed(one.body)) return refused(400, "the body is not valid UTF-8: it holds a lone surrogate");
    const fault = wire.refuse(one, { asked, replies, redeclares });
    if (fault !== undefined) return refused(400, fault);
    const step = script[at];
    at += 1;
    if (step === undefined) return refused(400, "the script is at its end");
    if ("fault" in step) {
      if (step.fault === "silent") onSilenced();
      return faulty(wire, step, one);
    }
    asked.push(one);
    const turn = typeof step === "function" ? step(one) : step;
    const reply = wire.json(turn, at);
    // What was cut off or refused is not sent again: its calls have no results.
    if (turn.end === undefined && !turn.isDropped) replies.push(reply);
    if (!wire.isStreamed(one)) return { type: "json", status: 200, body: reply };
    const events = wire.events(turn, at);
    const shown = turn.sent === undefined ? events : events.slice(0, -wire.lastEvents);
    return { type: "events", events: shown, ending: turn.sent === "short" ? "whole" : (turn.sent ?? "whole") };
  });
  return {
    asked,
    refusals,
    abandoned: server.abandoned,
    silenced,
    url: server.url,
    model: ({ apiKey = wire.key, path = "", ...options } = {}) =>
      wire.model({ retries: 0, ...options, apiKey, baseUrl: server.url + path }),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** Whether no text in a value, names included, holds half of a character: no UTF-8 can, and some providers refuse it. */
function isWellFormed(value: unknown): boolean {
  if (typeof value === "string") return value.isWellFormed();
  if (typeof value !== "object" || value === null) return true;
  return Object.entries(value).every(([name, child]) => name.isWellFormed() && isWellFormed(child));
}

function faulty(wire: Wire, { fault, status = 500, headers }: WireFault, asked: Asked): Given {
  switch (fault) {
    case "status":
      return { type: "json", status, body: wire.error(status, `fault ${status}`), ...(headers ? { headers } : {}) };
    case "silent":
      return { type: "silent" };
    case "stalled":
      return { type: "stalled", contentType: wire.isStreamed(asked) ? "text/event-stream" : "application/json" };
    case "garbage":
      return wire.isStreamed(asked)
        ? {
            type: "events",
            events: [{ ...wire.errorEvent, ...(wire.errorEvent.event ? { event: "message_start" } : {}), data: "{" }],
            ending: "whole",
          }
        : { type: "text", body: "{" };
    case "empty":
      return { type: "json", status: 200, body: {} };
    case "event":
      return { type: "events", events: [wire.errorEvent], ending: "whole" };
    case "oversize":
      return wire.isStreamed(asked)
        ? { type: "events", events: [{ event: "ping", data: `"${"x".repeat(5 * 1024 * 1024)}"` }], ending: "whole" }
        : { type: "text", body: `"${"x".repeat(33 * 1024 * 1024)}"` };
  }
}

/** How a reply comes: as a stream of events, or as one document. */
export const MODES = [
  ["streamed", true],
  ["in one piece", false],
] as const;

export const sse = (events: readonly ServerEvent[]) => events.map(eventText).join("");

/** The body of a reply. */
export const written = (wire: Wire, turn: WireTurn, stream: boolean, number = 1): string =>
  stream ? sse(wire.events(turn, number)) : JSON.stringify(wire.json(turn, number));

/** A model behind replies that are sent as they are, the last one again and again. */
export function modelOfBodies(
  wire: Wire,
  stream: boolean,
  bodies: readonly (string | Response)[],
  onAsked: (body: Fields) => void = () => {},
  options: WireModelOptions = {},
): Model {
  let at = 0;
  return wire.model({
    stream,
    retries: 0,
    ...options,
    baseUrl: "http://127.0.0.1:9",
    apiKey: wire.key,
    fetch: async (input, init) => {
      onAsked((await new Request(input, init).json()) as Fields);
      const body = bodies[Math.min(at, bodies.length - 1)] ?? "";
      at += 1;
      if (typeof body !== "string") return body.clone();
      return new Response(body, { headers: { "content-type": stream ? "text/event-stream" : "application/json" } });
    },
  });
}

export type Fields = Readonly<Record<string, unknown>>;

export function without(fields: Fields, ...names: readonly string[]): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));
}

/** A text in pieces, the first of which is empty. */
export function pieces(text: string, length = 7): string[] {
  return ["", ...(text.match(new RegExp(`[^]{1,${length}}`, "gu")) ?? [])];
}

export function inputTextOf({
  text,
  input = text === undefined ? {} : { input: text },
  inputText = JSON.stringify(input),
}: WireCall): string {
  return inputText;
}

/** An input as servers that parse the history take it back: what is no JSON object is named in one. */
export function inputSentBack(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return text;
  } catch {}
  return JSON.stringify(["", "null", '""', "[]"].includes(text.trim()) ? {} : { unreadable_input: text });
}
