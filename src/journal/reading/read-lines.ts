import { ByteList, PortcullisError } from "../../base/index.ts";

/** Maximum length of a line, in bytes: what a string of V8 holds. */
const MAX_LINE_BYTES = 512 * 1024 * 1024 - 1024;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/**
 * The lines of a file or a pipe, for `importLines`. Not more than one line is held in memory. Rejects with
 * `journal_invalid`, naming the line, if a line is too long or is not UTF-8.
 */
export async function* readLines(chunks: AsyncIterable<Uint8Array>, maxBytes = MAX_LINE_BYTES): AsyncGenerator<string> {
  const held = new ByteList();
  let number = 1;
  const hold = (part: Uint8Array) => {
    held.add(part);
    if (held.bytes > maxBytes) throw lineInvalid(number, `it is longer than ${maxBytes} bytes`);
  };
  for await (const chunk of chunks) {
    let from = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, from)) {
      hold(chunk.subarray(from, end));
      yield decode(held.take(), number);
      number += 1;
      from = end + 1;
    }
    if (from < chunk.length) hold(chunk.subarray(from));
  }
  if (held.bytes > 0) yield decode(held.take(), number);
}

function decode(line: Buffer, number: number): string {
  const end = line.at(-1) === CARRIAGE_RETURN ? line.length - 1 : line.length;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: number > 1 }).decode(line.subarray(0, end));
  } catch {
    throw lineInvalid(number, "it is not UTF-8");
  }
}

export function lineInvalid(number: number, why: string): PortcullisError {
  return new PortcullisError(
    "journal_invalid",
    `Line ${number} is not a record of a journal: ${why}. Import what this command printed: portcullis journal export`,
  );
}
