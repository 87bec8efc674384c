import { type GuestFrame, type HostFrame, PROTOCOL_VERSION, splitFrame, UNREPLAYABLE_CAUSES } from "./frames.ts";

/** Maximum length of a frame's header, in UTF-16 code units. A tool's name is its longest field. */
const HEADER_LENGTH = 4096;

export const TIMERS_AT_ONCE = 10_000;

/** Longest wait of a timer, in milliseconds: the longest that `setTimeout` accepts. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Why a frame was not accepted, as a sentence for the operator. It may quote the frame. */
export class MalformedFrame {
  readonly reason: string;
  constructor(reason: string) {
    this.reason = reason;
  }
}

type Field = (value: unknown) => boolean;

const id: Field = (value) => Number.isSafeInteger(value) && (value as number) > 0;
const count: Field = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
const boolean: Field = (value) => typeof value === "boolean";
const name: Field = (value) => typeof value === "string" && value.length > 0 && value.length <= 256;
const oneOf =
  (...allowed: readonly unknown[]): Field =>
  (value) =>
    allowed.includes(value);
const wait: Field = (value) =>
  Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= LONGEST_TIMER_MS;
const notes: Field = (value) =>
  Array.isArray(value) && value.length <= 8 && value.every((note) => typeof note === "string" && note.length <= 256);

/** The call whose body is a value to be kept, and whose header has the value's name. */
const SAVE_ARTIFACT = "save_artifact";

interface Form {
  readonly fields: readonly (readonly [string, Field])[];
  readonly body: "required" | "allowed" | "forbidden";
  /** Further fields of a frame with these fields. */
  readonly more?: (header: Readonly<Record<string, unknown>>) => Form["fields"];
}

const NONE: Form["fields"] = [];

function form(body: Form["body"], fields: Readonly<Record<string, Field>>, more?: Form["more"]): Form {
  return { fields: Object.entries(fields), body, ...(more && { more }) };
}

const GUEST_FORMS = new Map([
  ["ready", form("forbidden", { protocol: count, language: oneOf("javascript", "python") })],
  ["call", form("required", { id, tool: name }, ({ tool }) => (tool === SAVE_ARTIFACT ? [["name", name]] : NONE))],
  ["next", form("forbidden", { id })],
  ["cancel", form("forbidden", { id })],
  ["timer", form("forbidden", { id, ms: wait })],
  ["clear", form("forbidden", { id })],
  ["output", form("required", { stream: oneOf("stdout", "stderr"), dropped: count })],
  ["unreplayable", form("forbidden", { cause: oneOf(...UNREPLAYABLE_CAUSES) })],
  ["turn_end", form("forbidden", { open: count })],
  ["settled", form("allowed", { ok: boolean, notes })],
]);

/**
 * Parses a frame of a guest, which may be an attacker's. The frame must have exactly the known fields, each of its type
 * and within its bounds, and a body only if its kind has one. The body stays text.
 */
export function parseGuestFrame(text: string): GuestFrame | MalformedFrame {
  return plainFrame(text) ?? (parseFrame(text, GUEST_FORMS) as GuestFrame | MalformedFrame);
}

/**
 * The two frames of nearly every turn, as guests write them. A text that matches has exactly the fields of its kind,
 * within their bounds, and is read in a third of the time. Any other text is parsed as JSON.
 */
const PLAIN_CALL = /^\{"kind":"call","id":([1-9]\d{0,14}),"tool":"([\w.$-]{1,256})"\}$/;
const PLAIN_TURN_END = /^\{"kind":"turn_end","open":(0|[1-9]\d{0,14})\}$/;

function plainFrame(text: string): GuestFrame | undefined {
  if (text.startsWith('{"kind":"turn_end"')) {
    const found = PLAIN_TURN_END.exec(text);
    return found ? { kind: "turn_end", open: Number(found[1]) } : undefined;
  }
  if (!text.startsWith('{"kind":"call"')) return undefined;
  const { header, body } = splitFrame(text);
  const [, id, tool] = (body !== undefined && PLAIN_CALL.exec(header)) || [];
  if (body === undefined || tool === undefined || tool === SAVE_ARTIFACT) return undefined;
  return { kind: "call", id: Number(id), tool, body };
}

const seed: Field = (value) => typeof value === "string" && /^[0-9a-f]{32}$/.test(value);
const limits: Field = (value) => {
  if (typeof value !== "object" || value === null) return false;
  const named = value as Readonly<Record<string, unknown>>;
  const isCount = (key: string) => Object.hasOwn(named, key) && count(named[key]);
  return ["calls", "logBytes", "printedBytes", "frameBytes"].every(isCount);
};

const HOST_FORMS = new Map([
  ["start", form("required", { protocol: oneOf(PROTOCOL_VERSION), now: count, seed, limits })],
  ["answer", form("required", { now: count, id, ok: boolean })],
  ["items", form("allowed", { now: count, id, count, bytes: count })],
  ["fire", form("forbidden", { now: count, id })],
  ["stop", form("forbidden", { now: count })],
]);

/** Parses a frame of the host that is read from a journal. The journal may come from anywhere, so it is checked like a guest's frame. */
export function parseHostFrame(text: string): HostFrame | MalformedFrame {
  return parseFrame(text, HOST_FORMS) as HostFrame | MalformedFrame;
}

function parseFrame(text: string, forms: ReadonlyMap<string, Form>): object {
  const { header: headerText, body } = splitFrame(text);
  if (headerText.length > HEADER_LENGTH)
    return new MalformedFrame(`its header has ${headerText.length} characters, at most ${HEADER_LENGTH} are allowed`);
  const header = parseObject(headerText);
  if (!header) return new MalformedFrame("its header is not a JSON object");
  const form = typeof header.kind === "string" ? forms.get(header.kind) : undefined;
  if (!form) return new MalformedFrame(`its kind is unknown: ${quote(header.kind)}`);
  const more = form.more?.(header) ?? NONE;
  const fields = more.length === 0 ? form.fields : [...form.fields, ...more];
  for (const [field, accepts] of fields) {
    if (!Object.hasOwn(header, field) || !accepts(header[field]))
      return malformed(header, `\`${field}\` cannot be ${quote(header[field])}`);
  }
  if (Object.keys(header).length !== fields.length + 1)
    return malformed(header, "it has fields that do not belong there");
  if (body === undefined ? form.body === "required" : form.body === "forbidden")
    return malformed(header, `it ${body === undefined ? "lacks its body" : "has a body"}`);
  // A frame of the host has no field `body` in its header.
  if (body !== undefined) header.body = body;
  return header;
}

function malformed({ kind }: Record<string, unknown>, fault: string): MalformedFrame {
  return new MalformedFrame(`its kind is ${String(kind)}, and ${fault}`);
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

function quote(value: unknown): string {
  return (JSON.stringify(value) ?? "absent").slice(0, 80);
}
