import { saysMore } from "../../gate/answer.ts";
import type { CallAnswer } from "../../gate/call-tool.ts";
import type { LinkedResult } from "../../executions/mcp-runs/index.ts";
import { cleanLongJson, stubOf, TOO_LARGE } from "../../executions/output/index.ts";
import { cleanText, cutMiddle, INSET, insetLines, insetText, isFields, type Lane } from "../../base/index.ts";
import type { LinkedValue } from "../linked-values.ts";
import { contentBlocks, partBlocks } from "./content-blocks.ts";
import { linkTo } from "./program-results.ts";

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
  const content = shown ? [...shown.content, ...partBlocks(parts)] : [...(blocks ?? [])];
  if (answer.ok) return { content, ...(shown?.isWhole && isFields(value) && { structuredContent: value }) };
  const isSaid = blocks === undefined && saysMore(answer, JSON.stringify(value));
  return {
    content: [...(isSaid ? [failureText(answer, answer.message, outputBytes)] : []), ...content],
    isError: true,
  };
}

interface ShownValue {
  readonly content: LinkedResult["content"];
  /** Whether the text has all of the value: cleaned, for a model. */
  readonly isWhole: boolean;
}

async function shownValue(value: unknown, { outputBytes, lane, keep }: Showing): Promise<ShownValue> {
  const whole = JSON.stringify(value);
  const text = await cleanLongJson(whole, lane);
  const bytes = Buffer.byteLength(text);
  if (bytes <= outputBytes) return { content: [{ type: "text", text }], isWhole: true };
  const stub = stubOf({ value, bytes, counts: new Map() }, outputBytes, TOO_LARGE);
  const kept = keep(whole);
  const start = { type: "text", text: cleanText(JSON.stringify(stub)) } as const;
  return { content: [start, ...(kept ? [linkTo(kept)] : [])], isWhole: false };
}

/** The message of a handler is foreign text, so all its lines are indented. */
function failureText({ code }: CallAnswer & { readonly ok: false }, message: string, outputBytes: number) {
  const text = code === "handler_failed" ? insetText(message) : insetLines(message);
  return { type: "text" as const, text: cutMiddle(text, outputBytes, INSET) };
}
