import {
  isFields,
  JsonText,
  jsonTextOf,
  MAX_DEPTH,
  measure,
  PortcullisError,
  readerFor,
  readExact,
  repeats as isRepeated,
  tooManyValues,
  asUntrusted,
} from "../../base/index.ts";
import type { ServerText } from "./clean-credentials.ts";
import { type Message, dropNulls } from "./wire/wire.ts";
import { content as withParts, failedContent, keptParts, MAX_PARTS, type PartInput } from "../../tools/content.ts";
import type { Caller } from "../../tools/tool.ts";

export const BLOCK_LEVELS = 4;

/** Who reads a result, and whether its tool says what structured content it gives. */
export interface ResultReader {
  readonly source?: string;
  readonly caller?: Caller;
  readonly declared?: boolean;
  readonly resultValues?: number;
}

/**
 * The value of a call's result: the structured content, or what a server gives in place of any content, with the blocks beside it if they say more and the tool declares no
 * result; a single block of text as its text, or as its value if it is JSON of an object or a list; anything else as
 * `{ content }`, without what servers tell clients about blocks. Throws `tool_failed` with the server's text if the tool
 * failed.
 */
export async function resultValue(result: Message, reader: ResultReader, text: ServerText): Promise<unknown> {
  const { content: rawContent = [], structuredContent = bareValue(result) } = result;
  const isError = FAILED.has(result.isError);
  const { caller, declared } = reader;
  const listed = dropNulls(Array.isArray(rawContent) ? rawContent : [rawContent], BLOCK_LEVELS) as readonly unknown[];
  const content = listed.filter((one) => one !== null).map(blockOf);
  const onlyTexts = content.every(({ type }) => type === "text");
  if (isError && structuredContent === undefined && onlyTexts)
    throw new PortcullisError("tool_failed", text.quote(textOf(content)));
  // A program may need the bytes. A model needs them as an image or a file, and not as base64 in a text.
  const hidesBytes = caller === "direct" || isError;
  const { shown, parts } = shownBlocks(content, hidesBytes);
  const isStructured = structuredContent !== undefined;
  const isAlone = isStructured && (isError || declared || (await repeats(shown, structuredContent, reader)));
  const value = isAlone ? structuredContent : await valueOf(shown, structuredContent, reader);
  if (isError) return failureWith(value, parts, await sentenceOf(shown, structuredContent, text, reader), text);
  return parts.length === 0 ? value : withParts({ value, parts });
}

const FAILED: ReadonlySet<unknown> = new Set([true, "true", 1]);

/**
 * What a result without content has: the value in a place of the first draft, or fields of the value itself, as servers give
 * them whose handlers return it bare.
 */
function bareValue({ content, isError: _error, _meta, resultType: _type, toolResult, ...fields }: Message): unknown {
  if (content !== undefined) return undefined;
  return toolResult ?? (Object.keys(fields).length === 0 ? undefined : fields);
}

/** A failure with all that the server gave. It may repeat what it was given, so its texts are quoted. */
function failureWith(value: unknown, parts: readonly PartInput[], sentence: string | undefined, text: ServerText) {
  const quoted = value instanceof JsonText ? undefined : text.quoteWithin(value);
  if (quoted !== undefined) return failedContent(quoted, parts, sentence);
  const message = sentence ?? "The tool failed.";
  throw new PortcullisError("tool_failed", `${message}\nIts server gave more with this failure than is read of one.`);
}

/** The server's words about a failure, unless the caller reads them in the value: as its blocks, or as structured content. */
async function sentenceOf(shown: readonly Shown[], structured: unknown, text: ServerText, reader: ResultReader) {
  const texts = shown.filter(({ block }) => block.type === "text");
  const isInValue = structured === undefined ? reader.caller === "direct" : await repeats(texts, structured, reader);
  return isInValue ? undefined : text.quote(textOf(texts.map(({ block }) => block)));
}

/** Whether blocks say no more than structured content: they are its JSON, or that of fields and elements. Parts are read beside it. */
async function repeats(shown: readonly Shown[], structured: unknown, { source }: ResultReader): Promise<boolean> {
  const extras = shown.filter(
    ({ block, isPart }) => !isPart && !(block.type === "text" && String(block.text).trim() === ""),
  );
  if (extras.length === 0) return true;
  if (extras.some(({ block }) => block.type !== "text")) return false;
  const texts = extras.map(({ block }) => String(block.text));
  return isRepeated(asUntrusted(jsonTextOf(structured) ?? ""), texts.map(asUntrusted), readerOf(source));
}

/** What blocks are beside structured content, or without any. */
async function valueOf(shown: readonly Shown[], structured: unknown, reader: ResultReader): Promise<unknown> {
  const content = shown.map(({ block }) => withoutNotes(block));
  if (structured instanceof JsonText) return withContent(structured, content);
  if (structured !== undefined) return { structuredContent: structured, content };
  const [only] = content;
  if (content.length > 1 || only?.type !== "text") return { content };
  return (/^\s*[{[]/.test(String(only.text)) ? await structureIn(String(only.text), reader) : undefined) ?? only.text;
}

function withContent(structured: JsonText, content: readonly Message[]): JsonText {
  const text = `{"structuredContent":${structured.text},"content":${JSON.stringify(content)}}`;
  return new JsonText(text, {
    values: structured.values + measure(JSON.stringify(content)).values + 1,
    type: "object",
  });
}

/** The object or list that a text is the JSON of; undefined for any other text. */
async function structureIn(marked: string, { source, resultValues: values }: ResultReader): Promise<unknown> {
  const bounds = { depth: MAX_DEPTH, values: values ?? Number.POSITIVE_INFINITY };
  const text = marked.replace(/^\ufeff/, "");
  const read = await readExact(asUntrusted(text), bounds, readerOf(source));
  if (read.ok) return read.value;
  if (read.fault === "values") throw tooManyValues();
  return undefined;
}

const readerOf = (source = "") => readerFor(`source ${source}`);

interface Shown {
  readonly block: Block;
  /** Whether its bytes are a part, or would be one if a result could have more. */
  readonly isPart: boolean;
}

/**
 * Blocks as they are; or with the size of their bytes in place of them, and the bytes as parts. What is malformed stays as
 * it is. Only as many are looked at as a result has parts: the others are taken for what they say they are.
 */
export function shownBlocks(blocks: readonly Block[], hidesBytes: boolean) {
  const parts: PartInput[] = [];
  let seen = 0;
  const isPart = (part: PartInput) => {
    seen += 1;
    if (seen > MAX_PARTS) return true;
    const kept = isKept(part);
    if (kept) parts.push(part);
    return kept;
  };
  const shown = blocks.map((block) => (hidesBytes ? withoutBytes(block, isPart) : { block, isPart: false }));
  return { shown, parts };
}

function withoutBytes(block: Block, isPart: (part: PartInput) => boolean): Shown {
  const resource = block.type === "resource" && isFields(block.resource) ? block.resource : undefined;
  if (!resource && block.type !== "image" && block.type !== "audio") return { block, isPart: false };
  const { [resource ? "blob" : "data"]: data, ...others } = resource ?? (block as object as Message);
  const { mimeType = resource && "application/octet-stream" } = others;
  const isImage = resource ? String(mimeType).startsWith("image/") : block.type === "image";
  const type = isImage ? "image" : "file";
  if (typeof data !== "string" || typeof mimeType !== "string" || !isPart({ type, mediaType: mimeType, data }))
    return { block, isPart: false };
  const shown = { ...others, bytes: Buffer.byteLength(data, "base64") };
  return { block: resource ? { ...block, resource: shown } : (shown as object as Block), isPart: true };
}

function isKept(part: PartInput): boolean {
  try {
    return keptParts([part]).length > 0;
  } catch (error) {
    if (!PortcullisError.is(error)) throw error;
    return false;
  }
}

export function withoutNotes(block: object): Message {
  const { _meta: _, annotations: _hints, ...shown } = block as Message;
  return shown;
}

interface Block {
  readonly type: string;
  readonly text?: unknown;
  /** Of an image or a sound: base64. */
  readonly data?: unknown;
  readonly mimeType?: unknown;
  readonly resource?: unknown;
}

/** What is no block is one of its text, or of its JSON: nothing that the server gave is lost. */
function blockOf(value: unknown): Block {
  const { type, text } = isFields(value) ? value : { text: value };
  if (typeof type === "string" && (type !== "text" || typeof text === "string")) return value as Block;
  const body = text ?? (isFields(value) && Object.keys(value).join() === "type" ? "" : value);
  return { type: "text", text: typeof body === "string" ? body : JSON.stringify(body) };
}

function textOf(content: readonly Block[]): string {
  const texts = content.flatMap(({ type, text }) => (type === "text" ? [text as string] : []));
  const text = texts.join("\n").trim();
  return text === "" ? "The tool failed, and its server did not say why." : text;
}
