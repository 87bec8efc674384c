import { basename } from "node:path";
import { z } from "zod";
import { content } from "../../tools/content.ts";
import type { CallContext } from "../../tools/tool.ts";
import { countText, type SchemaType } from "../../base/index.ts";
import { objectSchema } from "../../base/values/object-schema.ts";
import { isText, linesOf } from "./text-lines.ts";
import { pathFailure, Search, type Workspace } from "./workspace.ts";

const PAGE_LINES = 2000;
/** Bytes of JSON of a page for a program, which reads it without a model. */
const PROGRAM_PAGE_BYTES = 1024 * 1024;
const LINE_CHARACTERS = 2000;

export const READ_INPUT = objectSchema({
  path: z.string().min(1).describe("path of the file from the root of the workspace"),
  offset: z.int().min(1).optional().describe("number of the first line to read; 1 by default"),
  limit: z.int().min(1).optional().describe(`number of lines to read; ${PAGE_LINES} by default`),
  numbered: z.boolean().optional().describe("number of each line and a tab before it; true by default"),
});

export const READ_OUTPUT = objectSchema({
  path: z.string(),
  lines: z.int().describe("of the whole file"),
  text: z.string(),
  more: z.string().optional().describe("what is not in text, and how to read it"),
});

/** Reads a page of a file: whole lines, as many as `limit` and the size of a page allow. */
export async function readPage(
  workspace: Workspace,
  { path: rawPath, offset = 1, limit = PAGE_LINES, numbered = true }: SchemaType<typeof READ_INPUT>,
  { caller, tenant, signal }: CallContext,
  { fileBytes, pageBytes }: { readonly fileBytes: number; readonly pageBytes: number },
): Promise<SchemaType<typeof READ_OUTPUT>> {
  const path = workspace.place(rawPath);
  const bytes = await workspace.read(path, fileBytes);
  if (!isText(bytes)) throw binaryFailure(path, bytes);
  const isDirect = caller === "direct";
  const maxBytes = isDirect ? pageBytes : PROGRAM_PAGE_BYTES;
  const maxCharacters = isDirect ? LINE_CHARACTERS : PROGRAM_PAGE_BYTES;
  const search = new Search(tenant, signal);
  const page: string[] = [];
  let [lines, pageSize, cut] = [0, 0, 0];
  for (const line of linesOf(bytes)) {
    if (line === undefined) {
      await search.next();
      continue;
    }
    lines = line.number;
    // The first line is always taken, cut if need be.
    if (lines < offset || lines >= offset + limit || (page.length > 0 && pageSize > maxBytes)) continue;
    const text = line.bytes.toString("utf8", 0, maxCharacters * 4);
    const isCut = text.length > maxCharacters;
    const whole = isCut
      ? `${text.slice(0, maxCharacters).toWellFormed()}… (cut: the line has ${line.bytes.length} bytes)`
      : text;
    const shown = numbered ? `${lines}\t${whole}` : whole;
    pageSize += Buffer.byteLength(JSON.stringify(shown));
    if (page.length > 0 && pageSize > maxBytes) continue;
    page.push(shown);
    if (isCut) cut += 1;
  }
  if (offset > Math.max(lines, 1))
    throw pathFailure(path, ` has ${lines} lines: offset is from 1 to ${Math.max(lines, 1)}.`);
  const next = offset + page.length;
  const remaining = lines - next + 1;
  const more = [
    remaining > 0 && `${countText(remaining, "more line")}: offset=${next}`,
    cut > 0 && `${countText(cut, "line was", "lines were")} cut`,
  ].filter((one) => one !== false);
  return { path, lines, text: page.join("\n"), more: more.join("; ") || undefined };
}

function binaryFailure(path: string, bytes: Buffer) {
  const type = imageTypeOf(bytes);
  const what = type === undefined ? "" : ` (${type}): view_image shows it`;
  return pathFailure(path, ` is no text in UTF-8, but ${bytes.length} bytes of data${what}.`);
}

/** Longest image: what providers take, as base64 of 5 MiB. */
const IMAGE_BYTES = 3.75 * 1024 * 1024;
const NAME_LENGTH = 100;

export const VIEW_INPUT = objectSchema({
  path: z.string().min(1).describe("path of the image from the root of the workspace"),
});
export const VIEW_OUTPUT = objectSchema({ path: z.string(), mediaType: z.string(), bytes: z.int() });

/** Kinds of images that models take, each by what its files begin with. */
const IMAGES: readonly (readonly [type: string, begin: RegExp])[] = [
  ["image/png", /^\x89PNG\r\n\x1a\n/],
  ["image/jpeg", /^\xff\xd8\xff/],
  ["image/gif", /^GIF8[79]a/],
  ["image/webp", /^RIFF[^]{4}WEBP/],
];

/** The media type of an image, by its first bytes and not by its name; undefined for anything else. */
export function imageTypeOf(bytes: Buffer): string | undefined {
  const head = bytes.toString("latin1", 0, 12);
  return IMAGES.find(([, begin]) => begin.test(head))?.[0];
}

export async function viewImage(workspace: Workspace, input: { readonly path: string }) {
  const path = workspace.place(input.path);
  const bytes = await workspace.read(path, IMAGE_BYTES);
  const mediaType = imageTypeOf(bytes);
  if (mediaType === undefined) throw pathFailure(path, " is no image in PNG, JPEG, GIF or WebP: read_file reads text.");
  return content({
    value: { path, mediaType, bytes: bytes.length },
    parts: [{ type: "image", mediaType, data: bytes, name: basename(path).slice(-NAME_LENGTH) }],
  });
}
