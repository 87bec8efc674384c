import { isUtf8 } from "node:buffer";
import { createReadStream, fstatSync, statSync, type Stats } from "node:fs";
import { PROGRAM_BYTES } from "../../programs/prepare/refuse-text.ts";
import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";
import { requireFile } from "./no-file.ts";
import { standardStreams } from "../terminal/standard-streams.ts";

/** The source in a file, or on standard input for `-`. Reading stops once the source exceeds the largest program. */
export async function readProgram(file: string): Promise<string> {
  const what = file === "-" ? "on standard input" : file;
  if (file !== "-") requireFile("run", file);
  const bytes = await readBytes(file).catch((cause: Error) => {
    throw new Failure(EXIT.usage, `The program ${what} cannot be read: ${cause.message}`, { cause });
  });
  if (typeof bytes === "string")
    throw new Failure(EXIT.refused, `The program ${what} has ${bytes} bytes, at most ${PROGRAM_BYTES} are allowed.`);
  if (!isUtf8(bytes)) throw new Failure(EXIT.refused, `The program ${what} is not UTF-8. Save the file as UTF-8.`);
  return bytes.toString();
}

/** The bytes of a program, or their number as text if there are more than allowed. */
async function readBytes(file: string): Promise<Buffer | string> {
  const { stdin } = standardStreams();
  const stats: Stats = file === "-" ? fstatSync(stdin.fd) : statSync(file);
  if (stats.isFile() && stats.size > PROGRAM_BYTES) return `${stats.size}`;
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of file === "-" ? stdin : createReadStream(file)) {
    length += chunks[chunks.push(chunk as Buffer) - 1]?.length ?? 0;
    if (length > PROGRAM_BYTES) return `more than ${PROGRAM_BYTES}`;
  }
  return Buffer.concat(chunks);
}
