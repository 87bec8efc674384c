import { createHmac, timingSafeEqual } from "node:crypto";

/** What a key lets its holder do at an owner. */
export type KeyUse =
  /** Call tools for one execution. `tools` are the only ones, by name; all of the owner's without it. */
  | { readonly execution: string; readonly tenant: string; readonly tools?: readonly string[] }
  /** Read the declarations of the tools that a tenant has, to submit programs. */
  | { readonly execution?: never; readonly tenant: string; readonly tools?: never };

export type OpenedKey = KeyUse & { readonly untilMs: number };

/** A key travels in a header of HTTP. */
export const KEY_LENGTH = 12_000;

/**
 * A key for one use, which holds until a time, in milliseconds since 1970. A process with the owner's secret makes and checks
 * it; its holder can neither change it nor make another one.
 */
export function sealKey(secret: string, use: KeyUse, untilMs: number): string {
  const { execution = null, tenant, tools = null } = use;
  const payload = Buffer.from(JSON.stringify([VERSION, execution, tenant, tools, untilMs])).toString("base64url");
  return `${payload}.${macOf(secret, payload).toString("base64url")}`;
}

/** Undefined for a key that this secret has not made. Its time may be over. */
export function openKey(secret: string, key: string): OpenedKey | undefined {
  if (key.length > KEY_LENGTH) return undefined;
  const dot = key.indexOf(".");
  const payload = key.slice(0, Math.max(0, dot));
  const mac = Buffer.from(key.slice(dot + 1), "base64url");
  const expected = macOf(secret, payload);
  if (mac.length !== expected.length || !timingSafeEqual(mac, expected)) return undefined;
  // From here on it is what a holder of the secret has written.
  const [version, execution, tenant, tools, untilMs] = JSON.parse(
    Buffer.from(payload, "base64url").toString(),
  ) as readonly unknown[];
  if (version !== VERSION) return undefined;
  const about = { tenant: tenant as string, untilMs: untilMs as number };
  if (execution === null) return about;
  return { ...about, execution: execution as string, ...(tools === null ? {} : { tools: tools as readonly string[] }) };
}

const VERSION = 1;

function macOf(secret: string, payload: string): Buffer {
  return createHmac("sha256", secret).update(`portcullis owner ${payload}`).digest();
}
