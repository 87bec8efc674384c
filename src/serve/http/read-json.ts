import { RequestProblem } from "./problems.ts";

/** A body that was read. */
export interface ReadBody {
  readonly value: unknown;
  readonly bytes: number;
}

/** The declared bytes of a request's body; `most` where none are declared, or no valid number. */
export function declaredBytes({ headers }: Request, most: number): number {
  const declared = Number(headers.get("content-length") ?? most);
  return declared >= 0 && declared <= most ? declared : most;
}

/** Reads a body of JSON. Its size is known before any of it is parsed. Throws a `RequestProblem`. */
export async function readJson(request: Request, most: number): Promise<ReadBody> {
  if (!isJson(request.headers.get("content-type")))
    throw new RequestProblem("body_not_json", "Send the body as application/json.");
  if (Number(request.headers.get("content-length") ?? 0) > most) throw tooLarge(most);
  const bytes = await readBytes(request, most);
  if (bytes.length === 0) throw new RequestProblem("request_invalid", "The body is empty: send JSON, at least {}.");
  try {
    return {
      value: JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)) as unknown,
      bytes: bytes.length,
    };
  } catch {
    throw new RequestProblem("request_invalid", "The body is not JSON in UTF-8.");
  }
}

async function readBytes({ body }: Request, most: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of body ?? []) {
      size += chunk.byteLength;
      if (size > most) throw tooLarge(most);
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof RequestProblem) throw error;
    throw new RequestProblem("request_invalid", "The body is incomplete: send the request again.");
  }
  return Buffer.concat(chunks, size);
}

function tooLarge(most: number): RequestProblem {
  return new RequestProblem("body_too_large", `A body may have at most ${most} bytes.`);
}

function isJson(type: string | null): boolean {
  return type?.split(";", 1)[0]?.trim().toLowerCase() === "application/json";
}
