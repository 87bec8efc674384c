import { ByteList, type TextReader, asUntrusted } from "../../base/index.ts";
import { readClientJson } from "../client-json.ts";
import { type ProblemCode, RequestProblem } from "./problems.ts";

export interface BodyOptions {
  readonly most: number;
  readonly reader: TextReader;
  /** What it is called in refusals; a body by default. */
  readonly what?: string;
}

/** Characters of a body's coding that its client is told. */
const CODING_LENGTH = 40;

const CODES = {
  depth: "request_invalid",
  values: "body_too_large",
  syntax: "request_invalid",
  time: "body_too_large",
  lost: "request_invalid",
} as const satisfies Record<string, ProblemCode>;

/**
 * Reads a body of JSON, at any door. Its bytes, its depth and its values are known before it is parsed. While
 * it is read, the reader holds what is declared. Throws a `RequestProblem`.
 */
export async function readJsonBody(request: Request, options: BodyOptions) {
  const { most, reader } = options;
  const declared = Number(request.headers.get("content-length") ?? most);
  const reading = reader.hold(declared >= 0 && declared <= most ? declared : most);
  return readHeld(request, options).finally(reading);
}

async function readHeld(request: Request, { most, reader, what = "body" }: BodyOptions) {
  if (!isJson(request.headers.get("content-type")))
    throw new RequestProblem("body_not_json", `Send the ${what} as application/json.`);
  const coding = request.headers.get("content-encoding")?.trim().toLowerCase() ?? "";
  if (coding !== "" && coding !== "identity")
    throw new RequestProblem(
      "body_coded",
      `Send the ${what} without a coding, as plain JSON in UTF-8: this server does not read ${JSON.stringify(coding.slice(0, CODING_LENGTH))}.`,
      { "accept-encoding": "identity" },
    );
  const tooLarge = () => new RequestProblem("body_too_large", `A ${what} may have at most ${most} bytes.`);
  if (Number(request.headers.get("content-length") ?? 0) > most) throw tooLarge();
  const bytes = await readBytes(request, most, tooLarge);
  if (bytes.length === 0) throw new RequestProblem("request_invalid", `The ${what} is empty: send JSON, at least {}.`);
  const read = await readClientJson(what, asUntrusted(textOf(bytes, what)), reader);
  if (!read.ok) throw new RequestProblem(CODES[read.fault], read.message);
  return { value: read.value, bytes: bytes.length };
}

function textOf(bytes: Buffer, what: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new RequestProblem("request_invalid", `The ${what} is not JSON in UTF-8.`);
  }
}

async function readBytes({ body }: Request, most: number, tooLarge: () => RequestProblem): Promise<Buffer> {
  const read = new ByteList();
  try {
    for await (const chunk of body ?? []) {
      read.add(chunk);
      if (read.bytes > most) throw tooLarge();
    }
  } catch (error) {
    if (error instanceof RequestProblem) throw error;
    throw new RequestProblem("request_invalid", "The body is incomplete: send the request again.");
  }
  return read.take();
}

function isJson(type: string | null): boolean {
  return type?.split(";", 1)[0]?.trim().toLowerCase() === "application/json";
}
