import type { LinkedResult, MediaBlock } from "../../loops/mcp-result.ts";
import { cleanText } from "../../output/clean-text.ts";
import { insetText } from "../../output/foreign-text.ts";
import { fieldOf, type Fields, isFields, textOf } from "../../values/fields.ts";

/** Bytes of all blocks of a result that are passed on as such. */
const BLOCKS_BYTES = 8 * 1024 * 1024;
const MOST_BLOCKS = 100;

type ContentBlock = LinkedResult["content"][number];

/**
 * The blocks of a value `{ content }`, as tools of MCP servers give images, audio and resources; undefined for any other
 * value, and where a block is of another kind or its text has more than `textBytes`. Text is that of a tool, so its lines
 * are indented.
 */
export function contentBlocks(value: unknown, textBytes: number): readonly ContentBlock[] | undefined {
  const content = isFields(value) && Object.keys(value).length === 1 ? fieldOf(value, "content") : undefined;
  if (!Array.isArray(content) || content.length === 0 || content.length > MOST_BLOCKS) return undefined;
  const blocks: (MediaBlock | { readonly type: "text"; readonly text: string })[] = [];
  for (const one of content as readonly unknown[]) {
    const block = readBlock(one);
    if (!block) return undefined;
    blocks.push(block);
  }
  const shown = blocks.reduce((sum, block) => sum + Buffer.byteLength(shownOf(block)), 0);
  const all = blocks.reduce((sum, block) => sum + JSON.stringify(block).length, 0);
  return shown > textBytes || all > BLOCKS_BYTES ? undefined : blocks;
}

/** What a model reads of a block as text. */
function shownOf(block: MediaBlock | { readonly type: "text"; readonly text: string }): string {
  if (block.type === "text") return block.text;
  return block.type === "resource" ? `${textOf(block.resource, "uri")}${textOf(block.resource, "text") ?? ""}` : "";
}

/** Only the fields that the protocol knows. */
function readBlock(block: unknown): MediaBlock | { type: "text"; text: string } | undefined {
  const type = textOf(block, "type");
  switch (type) {
    case "text": {
      const text = textOf(block, "text");
      return text === undefined ? undefined : { type, text: insetText(text) };
    }
    case "image":
    case "audio": {
      const [data, mimeType] = [textOf(block, "data"), mimeTypeOf(block)];
      return data === undefined || mimeType === undefined || !isBase64(data) ? undefined : { type, data, mimeType };
    }
    case "resource": {
      const resource = readResource(fieldOf(block, "resource"));
      return resource && { type, resource };
    }
    default:
      return undefined;
  }
}

function readResource(resource: unknown): Fields | undefined {
  const [uri, text, blob] = ["uri", "text", "blob"].map((name) => textOf(resource, name));
  if (uri === undefined || (text === undefined) === (blob === undefined)) return undefined;
  if (blob !== undefined && !isBase64(blob)) return undefined;
  const mimeType = mimeTypeOf(resource);
  return {
    uri: cleanText(uri),
    ...(mimeType === undefined ? {} : { mimeType }),
    ...(text === undefined ? { blob } : { text: cleanText(text) }),
  };
}

function mimeTypeOf(value: unknown): string | undefined {
  const mimeType = textOf(value, "mimeType");
  return mimeType !== undefined && /^[\w.+-]{1,64}\/[\w.+-]{1,128}$/.test(mimeType) ? mimeType : undefined;
}

function isBase64(text: string): boolean {
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);
}
