import type { CallAnswer } from "../../gate/call-tool.ts";
import type { LinkedResult } from "../../loops/mcp-result.ts";
import { cleanJson } from "../../output/clean-json.ts";
import { cleanText } from "../../output/clean-text.ts";
import { INSET, insetLines, insetText } from "../../output/foreign-text.ts";
import { stubOf } from "../../output/stub.ts";
import { TOO_LARGE } from "../../output/sentences.ts";
import { cutMiddle } from "../../values/cut-middle.ts";
import type { LinkedValue } from "../linked-values.ts";
import { contentBlocks } from "./content-blocks.ts";
import { linkTo } from "./program-results.ts";

/** The result of a tool that was called directly. Of a value that is too large it has the beginning, and a link to the whole, which is kept. */
export function directResult(
  answer: CallAnswer,
  outputBytes: number,
  keep: (text: string) => LinkedValue | undefined,
): LinkedResult {
  if (!answer.ok) return failure(answer, outputBytes);
  const blocks = contentBlocks(answer.value, outputBytes);
  if (blocks) return { content: [...blocks] };
  const text = cleanJson(JSON.stringify(answer.value));
  const bytes = Buffer.byteLength(text);
  if (bytes <= outputBytes) return { content: [{ type: "text", text }] };
  const stub = stubOf({ value: answer.value, bytes, counts: new Map() }, outputBytes, TOO_LARGE);
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
