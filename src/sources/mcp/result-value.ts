import { PortcullisError } from "../../errors.ts";
import type { ServerText } from "./clean-credentials.ts";
import { MalformedMessage, type Message } from "./wire.ts";
import { isFields } from "../../values/fields.ts";

/**
 * The value of a call's result: the structured content as it is; one block of text as its text; anything else as
 * `{ content }`, without what servers tell clients about blocks. Throws `tool_failed` with the server's text where the tool
 * failed, and a `MalformedMessage` for what is no result.
 */
export function resultValue({ content = [], structuredContent, isError }: Message, text: ServerText): unknown {
  if (!Array.isArray(content) || !content.every(isBlock))
    throw new MalformedMessage("The result has content that is no list of blocks.");
  if (isError === true) throw new PortcullisError("tool_failed", text.quote(textOf(content)));
  if (structuredContent !== undefined) return structuredContent;
  const [only] = content;
  if (content.length === 1 && only?.type === "text") return only.text;
  return { content: content.map(withoutNotes) };
}

/** A block without what servers tell clients about it. */
function withoutNotes(block: Block): Message {
  const { _meta: _, annotations: _hints, ...shown } = block;
  return shown;
}

interface Block {
  readonly type: string;
  readonly text?: unknown;
  readonly _meta?: unknown;
  readonly annotations?: unknown;
}

function isBlock(value: unknown): value is Block {
  if (!isFields(value) || typeof value.type !== "string") return false;
  return value.type !== "text" || typeof value.text === "string";
}

function textOf(content: readonly Block[]): string {
  const texts = content.flatMap(({ type, text }) => (type === "text" ? [text as string] : []));
  const text = texts.join("\n").trim();
  return text === "" ? "The tool failed, and its server did not say why." : text;
}
