import { exactText, LONG_NUMBER } from "../../../values/json/exact-json.ts";
import { withoutNulls } from "./wire.ts";

/** What the package's transport refuses in the envelope of a message. */
const NULL_FIELD = /"(?:error|result|params|_meta)"\s{0,9}:\s{0,9}null/;

/** A document, or an event of a stream, whose message the package reads as we do. What cannot be read stays as it is. */
export function asPackageReads(bytes: Uint8Array, isEvent: boolean): Uint8Array {
  const text = Buffer.from(bytes).toString();
  if (!NULL_FIELD.test(text) && !LONG_NUMBER.test(text)) return bytes;
  try {
    return Buffer.from(isEvent ? rewrittenEvent(text) : rewritten(text));
  } catch {
    return bytes;
  }
}

function rewritten(text: string): string {
  const exact = exactText(text);
  if (!NULL_FIELD.test(exact)) return exact;
  const message: unknown = JSON.parse(exact);
  return JSON.stringify(Array.isArray(message) ? message.map((one) => withoutNulls(one, 2)) : withoutNulls(message, 2));
}

function rewrittenEvent(text: string): string {
  const isData = (line: string) => line.startsWith("data:");
  const lines = text.split(/\r\n|\r|\n/);
  const data = lines.filter(isData).map((line) => line.slice(line.startsWith("data: ") ? 6 : 5));
  const written = rewritten(data.join("\n")).replaceAll("\n", "\ndata: ");
  return [`data: ${written}`, ...lines.filter((line) => !isData(line))].join("\n");
}
