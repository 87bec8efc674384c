import { type Fields, isFields, PortcullisError, readUrl } from "../../base/index.ts";
import type { ContentPart, MessagePart, UserMessage } from "../model.ts";

/** Longest content of one conversation, as base64. Every request repeats all of it. */
const MAX_DATA = 24 * 1024 * 1024;
const MAX_PARTS = 100;
const URL_LENGTH = 2048;
const NAME_LENGTH = 100;

/** Media types that a provider takes, like `image/png` or `text/*`. */
export interface MediaTypes {
  readonly inMessages: readonly string[];
  readonly inResults: readonly string[];
  /** Media types of links that the provider itself opens. Other links are sent as text. */
  readonly byUrl: readonly string[];
}

export type DataPart = Extract<ContentPart, { readonly data: string }>;

/** The parts of a message; a message of text alone is a string. */
export type MessageContent = string | readonly MessagePart[];

/** What the content of a conversation may still have: tells of a part whether there is room for it, which it then takes. */
export function contentBudget() {
  let room = MAX_DATA;
  return ({ data }: DataPart): boolean => {
    if (data.length > room) return false;
    room -= data.length;
    return true;
  };
}

export type ContentBudget = ReturnType<typeof contentBudget>;

/** A copy of a message of the user. Throws `option_invalid`, naming the part that the provider does not take. */
export function checkedMessage(
  message: UserMessage,
  { model, media, budget }: { readonly model: string; readonly media: MediaTypes; readonly budget: ContentBudget },
): MessageContent {
  const refused = (place: string, why: string) =>
    new PortcullisError("option_invalid", `send(message${place}): ${why}. The model is ${model}.`);
  if (typeof message === "string") return message;
  if (!Array.isArray(message) || message.length === 0 || message.length > MAX_PARTS)
    throw refused("", `it must be a text or an array of 1 to ${MAX_PARTS} parts`);
  return message.map((part: MessagePart, index) => {
    const fault = isText(part) ? undefined : partFault(part, media.inMessages);
    if (fault !== undefined) throw refused(`[${index}]`, fault);
    const copy = { ...part };
    if (isData(copy) && !budget(copy))
      throw refused(`[${index}]`, `the content of a conversation may have ${MAX_DATA} characters of base64`);
    return copy;
  });
}

/** The parts of a result that can be carried, and phrases that name every part. */
export interface ResultParts {
  readonly carried: readonly DataPart[];
  readonly notes: readonly string[];
}

/** Reads parts, which come from handlers: what cannot be carried is told in words. Links are told, but never opened. */
export function readResultParts(
  parts: readonly ContentPart[] = [],
  { media, budget }: { readonly media: MediaTypes; readonly budget: ContentBudget },
): ResultParts {
  const carried: DataPart[] = [];
  const notes = parts.slice(0, MAX_PARTS).map((part) => {
    let fault = partFault(part, media.inResults);
    if (fault === undefined && isData(part)) {
      if (budget(part)) carried.push(part);
      else fault = "the conversation has no room for it";
    }
    return fault === undefined ? `with ${described(part)}` : `without ${described(part)}, because ${fault}`;
  });
  const more = parts.length - notes.length;
  return { carried, notes: more > 0 ? [...notes, `without ${more} further parts`] : notes };
}

/** A text in one line, without characters that could be taken for its end. */
export function inOneLine(text: string, length: number): string {
  const line = text
    .slice(0, length * 4)
    .replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029\s]+/gu, " ")
    .trim();
  return line.length > length ? `${line.slice(0, length).toWellFormed()}…` : line;
}

export interface ContentForms {
  readonly text: (text: string) => Fields;
  readonly data: (part: DataPart) => Fields;
  /** A link that the provider itself opens; missing if it opens none. */
  readonly link?: (url: string, isImage: boolean) => Fields;
}

/** The blocks of a message. `byUrl` are the media types of links that the provider opens. */
export function contentBlocks(
  message: MessageContent,
  byUrl: readonly string[],
  { text, data, link }: ContentForms,
): readonly Fields[] {
  if (typeof message === "string") return [text(message)];
  return message.map((part) => {
    if (part.type === "text") return text(part.text);
    if (isData(part)) return data(part);
    const { url, name, mediaType = "" } = part;
    if (link && takesMedia(byUrl, mediaType)) return link(url, mediaType.startsWith("image/"));
    return text(name === undefined ? url : `${inOneLine(name, NAME_LENGTH)}: ${url}`);
  });
}

export function fileName({ name, mediaType }: DataPart): string {
  const cleanName = name === undefined ? "" : inOneLine(name, NAME_LENGTH).replaceAll(/[/\\]/g, "_");
  return cleanName === "" ? `file.${mediaType.replace(/^.*\//, "")}` : cleanName;
}

export function dataUrl({ mediaType, data }: DataPart): string {
  return `data:${mediaType};base64,${data}`;
}

function takesMedia(types: readonly string[], mediaType: string): boolean {
  return types.includes(mediaType) || types.includes(mediaType.replace(/\/.*$/, "/*"));
}

function isData(part: MessagePart): part is DataPart {
  return part.type === "image" || part.type === "file";
}

function isText(part: unknown): boolean {
  return isFields(part) && part.type === "text" && typeof part.text === "string" && part.text !== "";
}

/** Why a part cannot be carried, as the end of a sentence. */
function partFault(part: unknown, types: readonly string[]): string | undefined {
  if (!isFields(part)) return "it is no part";
  const { type, name, mediaType } = part;
  if (name !== undefined && typeof name !== "string") return "its name is no text";
  if (type === "link") return linkFault(part.url);
  if (type !== "image" && type !== "file") return "its type is not text, image, file or link, or it is empty";
  if (typeof mediaType !== "string" || !/^[a-z]{1,20}\/[a-z\d][a-z\d.+-]{0,99}$/.test(mediaType))
    return "its mediaType is not one like image/png";
  if ((type === "image") !== mediaType.startsWith("image/"))
    return `its type is ${type}, and its mediaType ${mediaType}`;
  if (!takesMedia(types, mediaType)) return `the provider does not take ${mediaType}: it takes ${types.join(", ")}`;
  return dataFault(part.data);
}

function dataFault(data: unknown): string | undefined {
  if (typeof data !== "string" || data === "") return "its data is no text in base64";
  if (data.length > MAX_DATA) return `its data has more than ${MAX_DATA} characters`;
  return Buffer.from(data, "base64").toString("base64") === data ? undefined : "its data is not base64";
}

function linkFault(url: unknown): string | undefined {
  const isShort = typeof url === "string" && url.length <= URL_LENGTH && !/[\s\p{Cc}\p{Cf}]/u.test(url);
  const read = isShort ? readUrl(url) : undefined;
  if (!read) return `its url is no URL of up to ${URL_LENGTH} characters`;
  const { protocol, username, password } = read;
  if (protocol !== "https:" && protocol !== "http:") return "its url is not one of http or https";
  return username === "" && password === "" ? undefined : "its url has a user name or a password";
}

function described(part: ContentPart): string {
  if (!isFields(part)) return "a part";
  const { type, name } = part as { readonly type?: unknown; readonly name?: unknown };
  const kind = type === "image" || type === "file" || type === "link" ? type : "part";
  const called = typeof name === "string" && name !== "" ? ` ${JSON.stringify(inOneLine(name, NAME_LENGTH))}` : "";
  return `${kind}${called}${detailOf(part)}`;
}

function detailOf(part: ContentPart): string {
  if (part.type === "link") return linkFault(part.url) === undefined ? ` ${part.url}` : "";
  const { data, mediaType } = part as { readonly data?: unknown; readonly mediaType?: unknown };
  if (typeof data !== "string" || typeof mediaType !== "string") return "";
  return ` (${inOneLine(mediaType, NAME_LENGTH)}, ${Buffer.byteLength(data, "base64")} bytes)`;
}
