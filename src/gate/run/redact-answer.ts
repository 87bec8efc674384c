import type { About, Redaction, Redactor } from "../../redaction/redactor.ts";
import type { ContentPart } from "../../tools/content.ts";
import type { Answer } from "../answer.ts";

const TEXT_TYPE =
  /^(?:text\/|application\/(?:json|xml|yaml|x-yaml|javascript|sql|toml)|[^;]{0,100}\+(?:json|xml|yaml))/i;

/** An answer as it may leave, and the number of characters that were taken out of it. */
export async function redactAnswer(
  answer: Answer,
  redactor: Redactor,
  about: About,
): Promise<{ readonly redacted: Answer; readonly taken: number }> {
  const { approvedBy } = answer;
  const approver = approvedBy === undefined ? {} : { approvedBy: (await redactor.text(approvedBy, about)).text };
  const redaction = redactor.for(about);
  if (!answer.ok) {
    const message = await redaction.text(answer.message);
    const { text: tool } = await redactor.text(answer.tool, about);
    return { redacted: { ...answer, message, tool, ...approver }, taken: redaction.taken };
  }
  const text = await redaction.json(answer.text);
  const bytes = redaction.taken === 0 ? answer.bytes : Buffer.byteLength(text);
  const parts = answer.parts && (await Array.fromAsync(answer.parts, (part) => redactPart(part, redaction)));
  return { redacted: { ok: true, text, bytes, ...(parts && { parts }), ...approver }, taken: redaction.taken };
}

/** Redacts names, addresses and texts. Images and other bytes stay as they are. */
async function redactPart(part: ContentPart, redaction: Redaction): Promise<ContentPart> {
  const named = part.name === undefined ? part : { ...part, name: await redaction.text(part.name) };
  if (named.type === "link") return { ...named, url: await redaction.text(named.url) };
  if (!TEXT_TYPE.test(named.mediaType)) return named;
  const before = redaction.taken;
  const cleaned = await redaction.text(Buffer.from(named.data, "base64").toString());
  return redaction.taken === before ? named : { ...named, data: Buffer.from(cleaned).toString("base64") };
}
