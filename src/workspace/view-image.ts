import { basename } from "node:path";
import { content, type Content } from "../tools/content.ts";
import { imageTypeOf } from "./image-type.ts";
import { failed, quoted, type Workspace } from "./workspace.ts";

/** Longest image: what providers take, as base64 of 5 MiB. */
const IMAGE_BYTES = 3.75 * 1024 * 1024;
const NAME_LENGTH = 100;

export interface ViewedImage {
  readonly path: string;
  readonly mediaType: string;
  readonly bytes: number;
}

export const VIEW_INPUT = {
  type: "object",
  properties: {
    path: { type: "string", minLength: 1, description: "path of the image from the root of the workspace" },
  },
  required: ["path"],
  additionalProperties: false,
};

export const VIEW_OUTPUT = {
  type: "object",
  properties: { path: { type: "string" }, mediaType: { type: "string" }, bytes: { type: "integer" } },
  required: ["path", "mediaType", "bytes"],
};

/** Gives a model an image to look at. */
export async function viewImage(
  workspace: Workspace,
  { path }: { readonly path: string },
): Promise<Content<ViewedImage>> {
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
