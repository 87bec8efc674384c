import { occurrences, Pace } from "../base/index.ts";
import { encodedStrictly } from "./request-text.ts";

const REPLACEMENT = "[secret]";
const SLICE_MATCHES = 4096;
/** Shortest part of a secret that is looked for at an edge at which a text was cut. */
const SHORTEST_PART = 3;

/** Names of headers and arguments that say that their values are secret. */
export const SECRET_NAME = /token|key|secret|password|auth|cookie|session/i;

/** The secrets of a source, in the forms in which servers repeat what they were given. Takes them out of texts. */
export class KeptSecrets {
  readonly #forms: readonly string[];

  /** Values with less than `shortest` characters stand in any text, and are left in it. */
  constructor(values: readonly string[], shortest: number) {
    this.#forms = longestFirst(values.flatMap(formsOf).filter(({ length }) => length >= shortest));
  }

  get isEmpty(): boolean {
    return this.#forms.length === 0;
  }

  /** The text without secrets, and without a part of a secret at an edge at which the text was cut. */
  takenFrom(text: string, { start, end }: Partial<Record<"start" | "end", boolean>> = {}): string {
    const first = start ? Math.max(0, ...this.#forms.map((form) => sharedBySuffix(form, text))) : 0;
    const last = end ? Math.max(0, ...this.#forms.map((form) => sharedBySuffix(text, form))) : 0;
    const whole = text.slice(first, Math.max(first, text.length - last));
    return this.#forms.reduce((rest, form) => rest.replaceAll(form, REPLACEMENT), whole);
  }

  /** The same for a whole text of any length, with other work in between. */
  takenFromWhole(text: string): Promise<string> {
    return withoutInSlices(this.#forms, text);
  }

  /** The same for bytes of any kind. Returns the given bytes if no secret is in them. */
  async takenFromBytes(bytes: Buffer): Promise<Buffer> {
    // As bytes of Latin-1 and of UTF-8, a character for each byte.
    const forms = longestFirst(this.#forms.flatMap((form) => [form, Buffer.from(form).toString("latin1")]));
    const text = bytes.toString("latin1");
    const rest = await withoutInSlices(forms, text);
    return rest === text ? bytes : Buffer.from(rest, "latin1");
  }
}

/** The longest first, so that no secret is left as the rest of another. */
function longestFirst(forms: readonly string[]): readonly string[] {
  return [...new Set(forms)].toSorted((one, other) => other.length - one.length);
}

async function withoutInSlices(forms: readonly string[], text: string): Promise<string> {
  const pace = new Pace();
  let rest = text;
  for (const form of forms) {
    rest = await replacedInSlices(rest, form, pace);
    await pace.rest();
  }
  return rest;
}

/** A server knows what it was given, and may repeat it a million times. */
async function replacedInSlices(text: string, form: string, pace: Pace): Promise<string> {
  const slices: string[] = [];
  let parts: string[] = [];
  let from = 0;
  for (const at of occurrences(text, form)) {
    parts.push(text.slice(from, at));
    from = at + form.length;
    if (parts.length < SLICE_MATCHES) continue;
    slices.push(parts.join(REPLACEMENT));
    parts = [];
    await pace.rest();
  }
  if (from === 0) return text;
  return [...slices, [...parts, text.slice(from)].join(REPLACEMENT)].join(REPLACEMENT);
}

/** How many characters at the end of one text, but not all of it, are the beginning of the other. */
function sharedBySuffix(one: string, other: string): number {
  for (let length = Math.min(one.length, other.length); length >= SHORTEST_PART; length -= 1)
    if (other.startsWith(one.slice(-length))) return length;
  return 0;
}

/** The secret as it is, and as it stands in JSON, and in addresses and forms. */
function formsOf(value: string): readonly string[] {
  const json = JSON.stringify(value).slice(1, -1);
  const encoded = encodeURIComponent(value.toWellFormed());
  const inAddresses = [encoded, encodedStrictly(value)].flatMap((one) => [one, one.replaceAll("%20", "+")]);
  const inSmallLetters = inAddresses.map((one) => one.replaceAll(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase()));
  return [value, json, json.replaceAll("/", "\\/"), ...inAddresses, ...inSmallLetters];
}
