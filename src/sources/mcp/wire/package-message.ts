import { exactText, LONG_NUMBER } from "../../../base/index.ts";
import { isLargeMessage, type LargeMessages } from "./large-messages.ts";
import { MalformedMessage, type MessageLimits, withoutNulls } from "./wire.ts";

/** What the package's transport refuses in the envelope of a message. */
const NULL_FIELD = /"(?:error|result|params|_meta)"\s{0,9}:\s{0,9}null/;

/**
 * A document, or an event of a stream, whose message the package reads as we do. What is no JSON stays as it is. Rejects as
 * `LargeMessages.read` does.
 */
export async function asPackageReads(
  bytes: Uint8Array,
  isEvent: boolean,
  large: LargeMessages,
  allowed: () => MessageLimits,
): Promise<Uint8Array> {
  const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
  if (isLargeMessage(whole)) {
    if (isEvent && hasManyLines(bytes)) throw new MalformedMessage("An event of the server has too many lines.");
    const { data, others } = isEvent ? partsOf(whole) : { data: whole };
    return Buffer.from(written(withoutNullFields(await large.read(data, allowed())), others));
  }
  if (!NULL_FIELD.test(whole) && !LONG_NUMBER.test(whole)) return bytes;
  const { data, others } = isEvent ? partsOf(whole) : { data: whole };
  return Buffer.from(written(withoutNullFields(exactText(data)), others));
}

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;
/** Lines of an event. JSON that is written for people has one for each value. */
const MOST_LINES = 200_000;

/** Whether an event has more lines than are split: each takes memory of its own, here and in the package. */
function hasManyLines(event: Uint8Array): boolean {
  let lines = 0;
  for (let at = 0; at < event.length && lines <= MOST_LINES; at += 1)
    if (event[at] === LINE_FEED || event[at] === CARRIAGE_RETURN) lines += 1;
  return lines > MOST_LINES;
}

function withoutNullFields(text: string): string {
  if (!NULL_FIELD.test(text)) return text;
  try {
    const message: unknown = JSON.parse(text);
    return JSON.stringify(
      Array.isArray(message) ? message.map((one) => withoutNulls(one, 2)) : withoutNulls(message, 2),
    );
  } catch {
    return text;
  }
}

/** The data of an event, and its other lines. */
function partsOf(event: string): { readonly data: string; readonly others: readonly string[] } {
  const isData = (line: string) => line.startsWith("data:");
  const lines = event.split(/\r\n|\r|\n/);
  const data = lines.filter(isData).map((line) => line.slice(line.startsWith("data: ") ? 6 : 5));
  return { data: data.join("\n"), others: lines.filter((line) => !isData(line)) };
}

function written(text: string, others: readonly string[] | undefined): string {
  return others ? [`data: ${text.replaceAll("\n", "\ndata: ")}`, ...others].join("\n") : text;
}
