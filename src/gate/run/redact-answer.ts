import type { About, Redacted, Redactor } from "../../redaction/redactor.ts";
import type { ContentPart } from "../../tools/content.ts";
import type { Answer } from "../answer.ts";

/** Media types whose bytes are text. */
const TEXT_TYPE =
  /^(?:text\/|application\/(?:json|xml|yaml|x-yaml|javascript|sql|toml)|[^;]{0,100}\+(?:json|xml|yaml))/i;

/** An answer as it may leave, and the number of characters that were taken out of it. */
export async function redactAnswer(
  answer: Answer,
  redactor: Redactor,
  about: About,
): Promise<{ readonly redacted: Answer; readonly taken: number }> {
  const approver = await redactedApprover(answer, redactor, about);
  if (!answer.ok) {
    const { text: message, taken } = await redactor.text(answer.message, about);
    const { text: tool } = await redactor.text(answer.tool, about);
    return { redacted: { ...answer, message, tool, ...approver }, taken };
  }
  const value = await redactor.json(answer.text, about);
  const { text } = value;
  const bytes = value.taken === 0 ? answer.bytes : Buffer.byteLength(text);
  let { taken } = value;
  const parts: ContentPart[] = [];
  for (const part of answer.parts ?? []) {
    const one = await redactPart(part, (words) => redactor.text(words, about));
    taken += one.taken;
    parts.push(one.part);
  }
  return { redacted: { ok: true, text, bytes, ...(answer.parts ? { parts } : {}), ...approver }, taken };
}

async function redactedApprover(
  { approvedBy }: Answer,
  redactor: Redactor,
  about: About,
): Promise<{ readonly approvedBy?: string }> {
  return approvedBy === undefined ? {} : { approvedBy: (await redactor.text(approvedBy, about)).text };
}

/** Redacts names, addresses and texts. Images and other bytes stay as they are. */
async function redactPart(
  part: ContentPart,
  text: (words: string) => Promise<Redacted>,
): Promise<{ readonly part: ContentPart; readonly taken: number }> {
  let taken = 0;
  const clean = async (words: string) => {
    const one = await text(words);
    taken += one.taken;
    return one.text;
  };
  const named = part.name === undefined ? part : { ...part, name: await clean(part.name) };
  if (named.type === "link") return { part: { ...named, url: await clean(named.url) }, taken };
  if (!TEXT_TYPE.test(named.mediaType)) return { part: named, taken };
  const words = Buffer.from(named.data, "base64").toString();
  const before = taken;
  const cleaned = await clean(words);
  return { part: taken === before ? named : { ...named, data: Buffer.from(cleaned).toString("base64") }, taken };
}
