import { createCipheriv, createDecipheriv, hash, randomBytes } from "node:crypto";
import { countOf, now, textOf } from "../../base/index.ts";

/** What a client gets, and sends again with its repeated request, so that the server finds the call. */
export interface SealedCall {
  readonly run: string;
  readonly principal: string;
  readonly digest: string;
  /** The round of questions that it ends. */
  readonly round: number;
}

/** How long a sealed call is accepted, in milliseconds. */
const VALID_MS = 60 * 60 * 1000;
const MAX_LENGTH = 1024;

const CIPHER = "aes-256-gcm";
const [IV_BYTES, TAG_BYTES] = [12, 16];
const OPTIONS = { authTagLength: TAG_BYTES };

/**
 * Seals what travels through a client, with a key of this process: a client can neither read it, nor make or change it.
 * The text has the same length for principals of any length.
 */
export class Seal {
  readonly #key = randomBytes(32);

  seal({ run, principal, digest, round }: SealedCall): string {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv(CIPHER, this.#key, iv, OPTIONS);
    const until = now() + VALID_MS;
    const text = JSON.stringify({ run, principal: hash("sha256", principal), digest, round, until });
    const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
    return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString("base64url");
  }

  /** Undefined for a text that was not sealed here, is too old, or belongs to another principal or request. */
  open(
    state: unknown,
    { principal, digest }: Pick<SealedCall, "principal" | "digest">,
  ): Pick<SealedCall, "run" | "round"> | undefined {
    const sealed = this.#read(state);
    const isMeant =
      textOf(sealed, "principal") === hash("sha256", principal) &&
      textOf(sealed, "digest") === digest &&
      countOf(sealed, "until") > now();
    return isMeant ? { run: textOf(sealed, "run") ?? "", round: countOf(sealed, "round") } : undefined;
  }

  #read(state: unknown): unknown {
    if (typeof state !== "string" || state.length > MAX_LENGTH) return undefined;
    const bytes = Buffer.from(state, "base64url");
    const start = IV_BYTES + TAG_BYTES;
    if (bytes.length <= start) return undefined;
    try {
      const decipher = createDecipheriv(CIPHER, this.#key, bytes.subarray(0, IV_BYTES), OPTIONS);
      decipher.setAuthTag(bytes.subarray(IV_BYTES, start));
      return JSON.parse(decipher.update(bytes.subarray(start), undefined, "utf8") + decipher.final("utf8"));
    } catch {
      return undefined;
    }
  }
}

/** Digest and bytes of what a client asks for. */
export function digestOf(tool: string, input: unknown): { readonly digest: string; readonly bytes: number } {
  const text = JSON.stringify([tool, input]);
  return { digest: hash("sha256", text), bytes: Buffer.byteLength(text) };
}
