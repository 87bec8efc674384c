import { createIsolateSandbox } from "../../../src/sandboxes/isolate/isolate-sandbox.ts";
import type { EngineProcess } from "../../../src/sandboxes/isolate/engine-process.ts";
import type { IsolateSandboxOptions } from "../../../src/sandboxes/isolate/pool-options.ts";
import { LIMITS, openGuest, runIn } from "../../support/guests.ts";

export type IsolateSandbox = ReturnType<typeof createIsolateSandbox>;

/** Runs a program to its end and gives its guest back; resolves when the pool has decided about the engine. */
export async function runOne(sandbox: IsolateSandbox, tenant = "a", program = "return 1"): Promise<void> {
  const guest = await openGuest(sandbox, tenant);
  await runIn(guest, program);
  await settled(sandbox);
}

/** Waits until all warm engines are idle. */
export async function readySpare(sandbox: IsolateSandbox): Promise<void> {
  while (sandbox.pool.counts.idle < 2) await new Promise((resolve) => setTimeout(resolve, 10));
}

/** Whether a guest that is opened while the engine of another one is prepared, which has run a program to its end, gets that engine. */
export async function hasSameAfter(sandbox: IsolateSandbox, program: string): Promise<boolean> {
  const guest = await openGuest(sandbox, "a", { ...LIMITS, memoryBytes: 256 * 1024 * 1024 });
  await runIn(guest, program);
  const [before, after] = [guest, await openGuest(sandbox, "a")].map(
    (one) => (one as unknown as { readonly engine: EngineProcess }).engine,
  );
  return before === after;
}

/** The pool has no engine that is starting, preparing or going. */
export async function settled({ pool }: IsolateSandbox): Promise<void> {
  const { engines, idle } = pool.counts;
  if (engines === idle) return;
  await new Promise((resolve) => setImmediate(resolve));
  await settled({ pool } as IsolateSandbox);
}

export async function withSandbox(
  options: IsolateSandboxOptions,
  use: (sandbox: IsolateSandbox) => Promise<void>,
): Promise<void> {
  await using sandbox = createIsolateSandbox({ warm: 1, ...options });
  await sandbox.warm?.();
  await use(sandbox);
}
