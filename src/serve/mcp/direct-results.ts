import type { CallAnswer } from "../../gate/call-tool.ts";
import type { LinkedResult } from "../../loops/mcp-result.ts";
import { cleanJson } from "../../output/clean-json.ts";
import { cleanText } from "../../output/clean-text.ts";
import { INSET, insetLines, insetText } from "../../output/foreign-text.ts";
import { stubOf } from "../../output/stub.ts";
import { cutMiddle } from "../../values/cut-middle.ts";
import type { KeptValue } from "../kept-values.ts";
import { contentBlocks } from "./content-blocks.ts";
import { linkTo } from "./program-results.ts";

const ADVICE =
  "The result is too large to be shown. Ask for less: fewer fields, a filter, page by page; or let a program call the tool, where one may.";

/** The result of a tool that was called directly. A value that is too large is kept, and stands there as its beginning and its address. */
export function directResult(
  answer: CallAnswer,
  outputBytes: number,
  keep: (text: string) => KeptValue | undefined,
): LinkedResult {
  if (!answer.ok) return failure(answer, outputBytes);
  const blocks = contentBlocks(answer.value, outputBytes);
  if (blocks) return { content: [...blocks] };
  const text = cleanJson(JSON.stringify(answer.value));
  const bytes = Buffer.byteLength(text);
  if (bytes <= outputBytes) return { content: [{ type: "text", text }] };
  const stub = stubOf({ value: answer.value, bytes, counts: new Map() }, outputBytes, ADVICE);
  const kept = keep(text);
  return {
    content: [{ type: "text", text: cleanText(JSON.stringify(stub)) }, ...(kept ? [linkTo(kept)] : [])],
  };
}

/** The message of a handler is foreign text, so all its lines are indented. */
function failure({ code, message }: CallAnswer & { readonly ok: false }, outputBytes: number): LinkedResult {
  const text = code === "handler_failed" ? insetText(message) : insetLines(message);
  return { content: [{ type: "text", text: cutMiddle(text, outputBytes, INSET) }], isError: true };
}
