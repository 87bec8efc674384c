import {
  array,
  checkOptions,
  fieldOf,
  fieldsOf,
  flag,
  option,
  optionError,
  type OptionsOf,
  readOptions,
  readUrl,
  required,
  secret,
  sumOf,
  withoutUndefined,
  words,
} from "../base/index.ts";

type PartWith<Data> =
  | {
      /** An image, or a file of any other kind. */
      readonly type: "image" | "file";
      /** Like `image/png`. */
      readonly mediaType: string;
      /** The bytes, or their base64. */
      readonly data: Data;
      readonly name?: string;
    }
  | { readonly type: "link"; readonly url: string; readonly mediaType?: string; readonly name?: string };

/** Content that is not JSON, as a handler gives it. */
export type PartInput = PartWith<Uint8Array | string>;

/** A part in the form that is kept: base64 in place of bytes. */
export type StoredPart = PartWith<string>;

/** Stands for a part without its data. */
export interface PartHandle {
  readonly type: StoredPart["type"];
  readonly name?: string;
  readonly mediaType?: string;
  /** Size of an image or a file. */
  readonly bytes?: number;
  readonly url?: string;
}

/** Maximum of parts of one result. */
export const MAX_PARTS = 20;
const NAME_LENGTH = 256;
const MEDIA_TYPE_LENGTH = 128;
const URL_LENGTH = 8192;
/** Maximum length of `display` as JSON, in UTF-16 code units. */
const DISPLAY_LENGTH = 64 * 1024;
/** Bytes of `source` as UTF-8. */
const SOURCE_BYTES = 2048;
const MEDIA_TYPE = /^[A-Za-z0-9][\w.+-]*\/[A-Za-z0-9][\w.+-]*$/;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

export const CONTENT_RULES = {
  /** The result that programs get and models read; by default, handles of the parts. */
  value: option<unknown>("a value that is JSON", () => true),
  /** For people alone: in events and reports, and never for a model or a program. */
  display: option<unknown>("a value that is JSON, of up to 64 KiB", isDisplay),
  /** Images, files and links, for a model that calls the tool directly. */
  parts: array<PartInput>(`up to ${MAX_PARTS} parts`),
  /**
   * Whether the call has failed. A model gets the value and the parts as its provider's failed result, and a program a
   * `ToolError` with `value`. The value need not fit `outputSchema`.
   */
  isError: flag(),
  /** Where the result comes from: an address or a path, of up to 2 KB. A model reads it before the result. */
  source: option<string>("an address or a path, of 1 to 2048 bytes", isSource),
};

type ContentOptions = OptionsOf<typeof CONTENT_RULES>;

/** Marks the class across copies of this package. */
const BRAND = Symbol.for("portcullis.content");

type ContentFields<Value> = Pick<Content<Value>, "value"> & Partial<Content<Value>>;

/** What `content()` makes. `Value` is the type of its value. */
export class Content<Value = unknown> {
  readonly value!: Value;
  readonly display: unknown;
  readonly parts: readonly StoredPart[] = [];
  readonly isError: boolean = false;
  readonly source: string | undefined;
  /** Of a failure: its sentence, in place of the value as text. */
  readonly message: string | undefined;
  /** Addresses that a tool of the same source may be asked for in this execution: `isNamed` of a handler's context. */
  readonly names: readonly string[] = [];

  constructor(fields: ContentFields<Value>) {
    Object.assign(this, withoutUndefined(fields));
  }

  get [BRAND](): true {
    return true;
  }

  /** Whether a value is content, of this or another copy of the package. */
  static is(value: unknown): value is Content {
    return typeof value === "object" && value !== null && BRAND in value;
  }
}

/**
 * A handler's result with more than a value: `display` for people, images, files and links for a model, and where it comes
 * from. A model that calls the tool directly gets the parts beside the value, in its provider's own blocks; a program gets
 * the value alone. With `isError` the call has failed. Throws `option_invalid`.
 */
export function content<const Value = { readonly parts: readonly PartHandle[] }>(
  options: Omit<ContentOptions, "value"> & { readonly value?: Value },
): Content<Value> {
  const { value, parts = [], ...others } = readOptions("content", options, CONTENT_RULES);
  const kept = keptParts(parts);
  const result = (value === undefined ? { parts: kept.map(handleOf) } : value) as Value;
  return new Content({ ...others, value: result, parts: kept });
}

/** A result that names addresses; the result as it is, if there are none. */
export function naming(result: unknown, names: readonly string[]): unknown {
  if (names.length === 0) return result;
  return new Content(Object.assign({}, Content.is(result) ? result : { value: result }, { names }));
}

/** A failure with a value and a sentence of its own. Throws `option_invalid` for parts that cannot be kept. */
export function failedContent(value: unknown, parts: readonly PartInput[], message: string | undefined): Content {
  return new Content({ value, parts: keptParts(parts), isError: true, message });
}

/** The value of content changed, and all else as it is. */
export function withValue(result: Content, value: unknown): Content {
  return new Content(Object.assign({}, result, { value }));
}

function handleOf(part: StoredPart): PartHandle {
  const { type, name, mediaType } = part;
  const own = part.type === "link" ? { url: part.url } : { bytes: Buffer.byteLength(part.data, "base64") };
  return withoutUndefined({ type, name, mediaType, ...own });
}

export function partsBytes(parts: readonly StoredPart[]): number {
  return sumOf(parts, (part) => (part.type === "link" ? part.url.length : part.data.length));
}

/**
 * Checks parts again before they are kept: content may have been changed since it was made, or be of another copy of
 * this package. Throws `option_invalid`.
 */
export function keptParts(parts: readonly unknown[]): readonly StoredPart[] {
  return parts.slice(0, MAX_PARTS + 1).map((part, index) => {
    if (index === MAX_PARTS) throw optionError("content({ parts })", `up to ${MAX_PARTS} parts`, parts);
    return keptPart(part, `content({ parts[${index}] })`);
  });
}

/** JSON text of `display`, whose size may have changed since it was checked. Throws `option_invalid`. */
export function displayText(display: unknown): string {
  const text = JSON.stringify(display);
  if (typeof text === "string" && text.length <= DISPLAY_LENGTH) return text;
  throw optionError("content({ display })", "a value that is JSON, of up to 64 KiB", display);
}

/** `source` again, which may have changed since it was checked. Throws `option_invalid`. */
export function keptSource(source: unknown): string {
  if (isSource(source)) return source;
  throw optionError("content({ source })", "an address or a path, of 1 to 2048 bytes", source);
}

const textThat = (expected: string, accepts: (text: string) => boolean) =>
  option<string>(expected, (value) => typeof value === "string" && accepts(value));
const NAME = textThat(`a name of 1 to ${NAME_LENGTH} characters`, ({ length }) => length > 0 && length <= NAME_LENGTH);
const MEDIA = textThat("a media type, like image/png", isMediaType);
const DATA = secret(
  option<Uint8Array | string>(
    "a Uint8Array, or text in base64",
    (data) => data instanceof Uint8Array || (typeof data === "string" && data.length % 4 === 0 && BASE64.test(data)),
  ),
);
const isImage = (text: string) => text.startsWith("image/") && isMediaType(text);
const IMAGE = textThat("the media type of an image, like image/png", isImage);
const PART_RULES = {
  link: {
    type: words(),
    url: required(textThat("an address that begins with https:// or http://", isUrl)),
    mediaType: MEDIA,
    name: NAME,
  },
  image: { type: words(), mediaType: required(IMAGE), data: required(DATA), name: NAME },
  file: { type: words(), mediaType: required(MEDIA), data: required(DATA), name: NAME },
};

function keptPart(part: unknown, place: string): StoredPart {
  const type = fieldOf(part, "type");
  if (type !== "link" && type !== "image" && type !== "file")
    throw optionError(`${place}.type`, '"image", "file" or "link"', type);
  const fields = withoutUndefined(part as object);
  if (type === "link") return { ...checkOptions(fieldsOf(place), fields, PART_RULES.link), type };
  const { data, ...kept } = checkOptions(fieldsOf(place), fields, PART_RULES[type]);
  const text =
    typeof data === "string" ? data : Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("base64");
  return { ...kept, type, data: text };
}

export function isMediaType(text: string): boolean {
  return text.length <= MEDIA_TYPE_LENGTH && MEDIA_TYPE.test(text);
}

function isUrl(text: string): boolean {
  return text.length <= URL_LENGTH && readUrl(text) !== undefined && /^https?:\/\//i.test(text);
}

function isSource(value: unknown): value is string {
  return (
    typeof value === "string" &&
    value !== "" &&
    value.length <= SOURCE_BYTES &&
    Buffer.byteLength(value) <= SOURCE_BYTES
  );
}

function isDisplay(value: unknown): boolean {
  try {
    displayText(value);
    return true;
  } catch {
    return false;
  }
}
