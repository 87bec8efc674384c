import { basename } from "node:path";
import { z } from "zod";
import { content, type Content } from "../../tools/content.ts";
import { objectSchema } from "../../base/values/object-schema.ts";
import type { SchemaType } from "../../base/index.ts";
import { failed, quoted, type Workspace } from "./workspace.ts";

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

export async function viewImage(
  workspace: Workspace,
  { path }: { readonly path: string },
): Promise<Content<SchemaType<typeof VIEW_OUTPUT>>> {
  const place = workspace.place(path);
  const bytes = await workspace.read(place, IMAGE_BYTES);
  const mediaType = imageTypeOf(bytes);
  if (mediaType === undefined)
    throw failed(`${quoted(place.path)} is no image in PNG, JPEG, GIF or WebP: read_file reads text.`);
  return content({
    value: { path: place.path, mediaType, bytes: bytes.length },
    parts: [{ type: "image", mediaType, data: bytes, name: basename(place.path).slice(-NAME_LENGTH) }],
  });
}
