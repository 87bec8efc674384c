import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";

const CIPHER = "aes-256-gcm";
const [IV_BYTES, TAG_BYTES] = [12, 16];

/** Encrypts and authenticates a text with a key of 32 bytes. It can be opened only with the key, for the same `use`. */
export function sealText(key: Uint8Array, text: string, use = ""): string {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(CIPHER, key, iv, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(use));
  const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString("base64url");
}

/** Undefined for a text that was sealed with another key or for another use, or that is no sealed text. */
export function openText(key: Uint8Array, sealed: string, use = ""): string | undefined {
  const bytes = Buffer.from(sealed, "base64url");
  const start = IV_BYTES + TAG_BYTES;
  if (bytes.length < start) return undefined;
  try {
    const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES })
      .setAAD(Buffer.from(use))
      .setAuthTag(bytes.subarray(IV_BYTES, start));
    return decipher.update(bytes.subarray(start), undefined, "utf8") + decipher.final("utf8");
  } catch {
    return undefined;
  }
}
