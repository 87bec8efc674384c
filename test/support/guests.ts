import { frameText, type Language, PROTOCOL_VERSION } from "../../bridge/frames.ts";
import type { Guest, Sandbox, SandboxLimits } from "../../src/sandboxes/sandbox.ts";

export const LIMITS: SandboxLimits = { memoryBytes: 64 * 1024 * 1024, frameBytes: 1024 * 1024 };

export function openGuest(
  sandbox: Sandbox,
  tenant = "test",
  limits = LIMITS,
  language: Language = "javascript",
): Promise<Guest> {
  return sandbox.open({ language, limits, tenant }, AbortSignal.timeout(60_000));
}

/** Text of a `start` frame for a program that may call `ping`. */
export function startText(program: string): string {
  return frameText({
    kind: "start",
    protocol: PROTOCOL_VERSION,
    now: 1_760_000_000_000,
    seed: "0123456789abcdef0123456789abcdef",
    limits: { calls: 100, logBytes: 8192, printedBytes: 8192, frameBytes: 1024 * 1024 },
    body: JSON.stringify({ program, tools: ["ping"] }),
  });
}

export function answerPing(id: number, value: unknown): string {
  return frameText({ kind: "answer", now: 1_760_000_000_100, id, ok: true, body: JSON.stringify(value) });
}

/** Reads frames until one of this kind has come, and returns all of them. */
export async function heardUntil(frames: AsyncIterator<readonly string[]>, kind: string): Promise<string[]> {
  const heard: string[] = [];
  while (!heard.some((frame) => frame.startsWith(`{"kind":"${kind}"`))) {
    const next = await frames.next();
    if (next.done) throw new Error(`the guest ended after ${JSON.stringify(heard)}`);
    heard.push(...next.value);
  }
  return heard;
}

export function iterate(guest: Guest): AsyncIterator<readonly string[]> {
  return guest.frames[Symbol.asyncIterator]();
}

/** Runs a program to its end, and gives its guest back. */
export async function runIn(guest: Guest, program = "return 1"): Promise<void> {
  guest.send([startText(program)]);
  await heardUntil(iterate(guest), "settled");
  guest.release();
}
