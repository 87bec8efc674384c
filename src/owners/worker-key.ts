import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto";

const CIPHER = "aes-256-gcm";
const [IV_BYTES, TAG_BYTES] = [12, 16];

/** What a sealed key is for. Under any other address, execution or tenant it cannot be opened. */
export interface SealedFor {
  readonly url: string;
  readonly execution: string;
  readonly tenant: string;
}

/**
 * The key of an owner's workers, which the owner's secret gives, and which does not give the secret. It opens the keys of
 * executions that journals hold, and nothing at the owner by itself.
 */
export function workerKeyOf(secret: string): string {
  return createHmac("sha256", secret).update("portcullis owner's workers").digest("base64url");
}

/** The key of an execution as a journal holds it: who reads it there, and is no worker of this owner, cannot use it. */
export function sealForWorkers(workerKey: string, key: string, about: SealedFor): string {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(CIPHER, bytesOf(workerKey), iv, { authTagLength: TAG_BYTES }).setAAD(nameOf(about));
  const sealed = Buffer.concat([cipher.update(key, "utf8"), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString("base64url");
}

/** Undefined for a text that was not sealed with this key for this use. */
export function openAsWorker(workerKey: string, sealed: string, about: SealedFor): string | undefined {
  const bytes = Buffer.from(sealed, "base64url");
  if (bytes.length < IV_BYTES + TAG_BYTES) return undefined;
  const [iv, tag] = [bytes.subarray(0, IV_BYTES), bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES)];
  try {
    const cipher = createDecipheriv(CIPHER, bytesOf(workerKey), iv, { authTagLength: TAG_BYTES })
      .setAAD(nameOf(about))
      .setAuthTag(tag);
    return Buffer.concat([cipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), cipher.final()]).toString("utf8");
  } catch {
    // Another key, or another use.
    return undefined;
  }
}

/** A key of any length, as the bytes that the cipher takes. */
function bytesOf(workerKey: string): Buffer {
  return createHmac("sha256", workerKey).update("portcullis sealed key").digest();
}

function nameOf({ url, execution, tenant }: SealedFor): Buffer {
  return Buffer.from(JSON.stringify([url, execution, tenant]));
}
