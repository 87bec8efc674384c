import { createHmac } from "node:crypto";
import { openText, sealText } from "../values/sealed-text.ts";

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

/** The key of an execution as a journal holds it: a reader of the journal that is no worker of this owner cannot use it. */
export function sealForWorkers(workerKey: string, key: string, about: SealedFor): string {
  return sealText(bytesOf(workerKey), key, nameOf(about));
}

/** Undefined for a text that was not sealed with this key for this use. */
export function openAsWorker(workerKey: string, sealed: string, about: SealedFor): string | undefined {
  return openText(bytesOf(workerKey), sealed, nameOf(about));
}

/** A key of any length, as the bytes that the cipher takes. */
function bytesOf(workerKey: string): Buffer {
  return createHmac("sha256", workerKey).update("portcullis sealed key").digest();
}

function nameOf({ url, execution, tenant }: SealedFor): string {
  return JSON.stringify([url, execution, tenant]);
}
