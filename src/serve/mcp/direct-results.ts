import { saysMore } from "../../gate/answer.ts";
import type { CallAnswer } from "../../gate/call-tool.ts";
import type { LinkedResult, MediaBlock } from "../../executions/mcp-runs/index.ts";
import { cleanLongJson, stubOf, TOO_LARGE_ADVICE } from "../../executions/output/index.ts";
import {
  cleanText,
  cutMiddle,
  INSET,
  insetLines,
  insetText,
  isFields,
  type Lane,
  byteText,
  countOf,
  fieldOf,
  type Fields,
  textOf,
} from "../../base/index.ts";
import type { LinkedValue } from "../linked-values.ts";
import { linkTo } from "./program-results.ts";
import type { StoredPart } from "../../tools/content.ts";

interface Showing {
  readonly outputBytes: number;
  readonly lane: Lane;
  /** Keeps a value that is too large to be shown. */
  readonly keep: (text: string) => LinkedValue | undefined;
}

/** The result of a direct call, with its images, files and links. A value that is too large is kept: the result has its start and a link. */
export async function directResult(answer: CallAnswer, showing: Showing): Promise<LinkedResult> {
  const { outputBytes } = showing;
  const { value, parts = [] } = answer;
  if (!answer.ok && (value === undefined || typeof value === "string")) {
    const text = failureText(answer, value ?? answer.message, outputBytes);
    return { content: [text, ...partBlocks(parts)], isError: true };
  }
  const blocks = contentBlocks(value, outputBytes, parts);
  const shown = blocks ? undefined : await shownValue(value, showing);
  const content = [...(blocks ?? []), ...(shown ? [...shown.content, ...partBlocks(parts)] : [])];
  if (answer.ok) return { content, structuredContent: shown?.isWhole && isFields(value) ? value : undefined };
  if (shown && saysMore(answer, JSON.stringify(value)))
    content.unshift(failureText(answer, answer.message, outputBytes));
  return { content, isError: true };
}

/** The message of a handler is foreign text, so all its lines are indented. */
function failureText({ code }: CallAnswer & { readonly ok: false }, message: string, outputBytes: number) {
  const text = code === "handler_failed" ? insetText(message) : insetLines(message);
  return { type: "text" as const, text: cutMiddle(text, outputBytes, INSET) };
}

/** `isWhole`: the text has all of the value: cleaned, for a model. */
async function shownValue(value: unknown, { outputBytes, lane, keep }: Showing) {
  const whole = JSON.stringify(value);
  const text = await cleanLongJson(whole, lane);
  const bytes = Buffer.byteLength(text);
  if (bytes <= outputBytes) return { content: [{ type: "text" as const, text }], isWhole: true };
  const stub = stubOf({ value, bytes, counts: new Map() }, outputBytes, TOO_LARGE_ADVICE);
  const kept = keep(whole);
  const start = { type: "text" as const, text: cleanText(JSON.stringify(stub)) };
  return { content: [start, ...(kept ? [linkTo(kept)] : [])], isWhole: false };
}

/** Bytes of all blocks of a result that are passed on as such. */
const BLOCKS_BYTES = 8 * 1024 * 1024;
const MOST_BLOCKS = 100;
/** Characters of an address, and of a name or a description. */
const URI_LENGTH = 8192;
const NAME_LENGTH = 1024;

type ContentBlock = LinkedResult["content"][number];
type TextBlock = { readonly type: "text"; readonly text: string };
type ReadBlock = MediaBlock | TextBlock;

/** Fields of blocks. A value with others is no result of an MCP server: they would be lost. */
const FIELDS =
  /^(?:type|text|data|mimeType|bytes|resource|uri|blob|name|title|description|size|icons|annotations|_meta)$/;

/**
 * The blocks of a value `{ content }`, as tools of MCP servers give images, audio, resources and links. Undefined for
 * any other value, if a block is of another kind or has other fields, and if a text has more than `textBytes`. Bytes that the value lacks
 * are taken from the parts, in their order. Texts are a tool's, so their lines are indented.
 */
function contentBlocks(
  value: unknown,
  textBytes: number,
  parts: readonly StoredPart[] = [],
): readonly ContentBlock[] | undefined {
  const content = isFields(value) && Object.keys(value).length === 1 ? fieldOf(value, "content") : undefined;
  if (!Array.isArray(content) || content.length === 0 || content.length > MOST_BLOCKS) return undefined;
  const queue = [...parts];
  const nextBytes = () => {
    const part = queue.shift();
    return part?.type === "link" ? undefined : part?.data;
  };
  const blocks: ReadBlock[] = [];
  for (const one of content as readonly unknown[]) {
    const block = readBlock(one, nextBytes);
    if (!block) return undefined;
    blocks.push(block);
  }
  const shown = blocks.reduce((sum, block) => sum + Buffer.byteLength(shownOf(block)), 0);
  const all = blocks.reduce((sum, block) => sum + lengthOf(block), 0);
  return queue.length > 0 || shown > textBytes || all > BLOCKS_BYTES ? undefined : blocks;
}

/** Images, files and links beside a value. What does not fit is named in a text, with its size. */
function partBlocks(parts: readonly StoredPart[]): readonly ContentBlock[] {
  const leftOut: string[] = [];
  let room = BLOCKS_BYTES;
  const blocks: ContentBlock[] = parts.map(partBlock).filter((block, index) => {
    const length = lengthOf(block);
    const fits = length <= room;
    if (fits) room -= length;
    else leftOut.push(`part ${index + 1} (${byteText(length)})`);
    return fits;
  });
  if (leftOut.length === 0) return blocks;
  const text = `Left out, because a result may have ${byteText(BLOCKS_BYTES)} of images and files: ${leftOut.join(", ")}.`;
  return [...blocks, { type: "text", text }];
}

function partBlock(part: StoredPart, index: number): MediaBlock {
  const name = part.name === undefined ? undefined : cleanText(part.name);
  const { mediaType: mimeType } = part;
  if (part.type === "link") {
    const uri = cleanText(part.url);
    return { type: "resource_link", uri, name: name ?? uri, mimeType };
  }
  const { data, mediaType } = part;
  if (part.type === "image") return { type: "image", data, mimeType: mediaType };
  if (mediaType.startsWith("audio/")) return { type: "audio", data, mimeType: mediaType };
  const uri = `portcullis://parts/${index + 1}/${encodeURIComponent((name ?? "file").toWellFormed())}`;
  return { type: "resource", resource: { uri, mimeType, blob: data } };
}

function lengthOf(block: ContentBlock | ReadBlock): number {
  return JSON.stringify(block).length;
}

/** What a model reads of a block as text. */
function shownOf(block: ReadBlock): string {
  if (block.type === "text") return block.text;
  const { uri, text, name, description }: Fields = block.type === "resource" ? block.resource : { ...block };
  return [uri, text, name, description].filter((one) => typeof one === "string").join("");
}

/** Where blocks have their bytes. */
const BYTES_FIELDS: ReadonlyMap<unknown, string> = new Map([
  ["image", "data"],
  ["audio", "data"],
  ["resource", "blob"],
]);

/** Only the fields that the protocol knows. `nextBytes` gives the bytes of a block that has only their number: they are a part. */
function readBlock(block: unknown, nextBytes: () => string | undefined): ReadBlock | undefined {
  if (!isFields(block) || !Object.keys(block).every((name) => FIELDS.test(name))) return undefined;
  const { type } = block;
  const of = type === "resource" ? fieldOf(block, "resource") : block;
  const [text, uri, name, description] = ["text", "uri", "name", "description"].map((field) => textOf(of, field));
  const bytesField = BYTES_FIELDS.get(type);
  const isElsewhere = bytesField !== undefined && (type !== "resource" || text === undefined);
  const data = bytesField && textOf(of, bytesField);
  const bytes = data ?? (isElsewhere && typeof fieldOf(of, "bytes") === "number" ? nextBytes() : undefined);
  const mimeType = mimeTypeOf(of);
  if (bytes !== undefined && !isBase64(bytes)) return undefined;
  if (type === "text") return text === undefined ? undefined : { type, text: insetText(text) };
  if (type === "image" || type === "audio")
    return bytes === undefined || mimeType === undefined ? undefined : { type, data: bytes, mimeType };
  if (uri === undefined || uri.length > URI_LENGTH || (description?.length ?? 0) > NAME_LENGTH) return undefined;
  if (type === "resource") {
    const contents = text === undefined ? { blob: bytes } : { text: cleanText(text) };
    const hasOne = (text === undefined) !== (bytes === undefined);
    return hasOne ? { type, resource: { uri: cleanText(uri), mimeType, ...contents } } : undefined;
  }
  if (type !== "resource_link") return undefined;
  const size = countOf(block, "size");
  const shown = {
    name: cleanText((name ?? uri).slice(0, NAME_LENGTH)),
    description: description && cleanText(description),
  };
  return { type, uri: cleanText(uri), ...shown, mimeType, size: size === fieldOf(block, "size") ? size : undefined };
}

function mimeTypeOf(value: unknown): string | undefined {
  const mimeType = textOf(value, "mimeType");
  return mimeType !== undefined && /^[\w.+-]{1,64}\/[\w.+-]{1,128}$/.test(mimeType) ? mimeType : undefined;
}

function isBase64(text: string): boolean {
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);
}
