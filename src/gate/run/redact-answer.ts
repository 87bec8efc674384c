import type { About, Redaction, Redactor } from "../../journal/redaction/redactor.ts";
import type { StoredPart } from "../../tools/content.ts";
import type { Answer } from "../answer.ts";

const TEXT_TYPE =
  /^(?:text\/|application\/(?:json|xml|yaml|x-yaml|javascript|sql|toml)|[^;]{0,100}\+(?:json|xml|yaml))/i;

/** An answer as it may leave, and the number of characters that were taken out of it. */
export async function redactAnswer(
  answer: Answer,
  redactor: Redactor,
  about: About,
): Promise<{ readonly redacted: Answer; readonly count: number }> {
  const { approvedBy, from, parts } = answer;
  const redaction = redactor.for(about);
  const message = answer.ok ? undefined : await redaction.text(answer.message);
  const text = answer.ok ? await redaction.json(answer.text) : answer.value && (await redaction.json(answer.value));
  const extras = {
    approvedBy: approvedBy && (await redactor.text(approvedBy, about)).text,
    parts: parts && (await Array.fromAsync(parts, (part) => redactPart(part, redaction))),
    from: from && (await redaction.text(from)),
  };
  const count = redaction.count + (answer.redacted ?? 0);
  if (!answer.ok) {
    const { text: tool } = await redactor.text(answer.tool, about);
    return { redacted: { ...answer, message: message ?? "", tool, value: text, ...extras }, count };
  }
  const bytes = count === 0 ? answer.bytes : Buffer.byteLength(text ?? "");
  return { redacted: { ok: true, text: text ?? "", bytes, ...extras }, count };
}

/** Redacts names, addresses and texts. Images and other bytes stay as they are. */
async function redactPart(part: StoredPart, redaction: Redaction): Promise<StoredPart> {
  const named = part.name === undefined ? part : { ...part, name: await redaction.text(part.name) };
  if (named.type === "link") return { ...named, url: await redaction.text(named.url) };
  if (!TEXT_TYPE.test(named.mediaType)) return named;
  const before = redaction.count;
  const cleaned = await redaction.text(Buffer.from(named.data, "base64").toString());
  return redaction.count === before ? named : { ...named, data: Buffer.from(cleaned).toString("base64") };
}
