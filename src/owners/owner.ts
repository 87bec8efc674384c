/*
 * An owner: the process that has the handlers of tools, and their secrets. What happens to a call of a worker:
 *
 *   owner-server.ts    reads the key before anything else, and the input within its bounds
 *   owned-calls.ts     has the call made once, however often it is sent
 *   owner-gate.ts      the owner's own gate checks the input again, runs the handler, checks the result
 */
import { PortcullisError } from "../errors.ts";
import { readOptions } from "../option-rules/options.ts";
import { OwnerGate } from "./owner-gate.ts";
import { KEY_VARIABLE, type Owner, OWNER_RULES, type OwnerOptions } from "./owner-options.ts";
import { type OwnerListener, serveOwner } from "./owner-server.ts";
import { workerKeyOf } from "./worker-key.ts";

/**
 * Serves tools to the workers of a fleet: programs that are submitted with it (`submit(…, { owner })`) call them there, and
 * the workers need neither their code nor their secrets. Rejects with `option_invalid`, with `tools_conflict`, and with
 * `door_unavailable` if it cannot be listened on.
 */
export async function createOwner(options: OwnerOptions): Promise<Owner> {
  const read = readOptions("createOwner", options, OWNER_RULES);
  const key = secretOf("createOwner", read.key);
  const gate = new OwnerGate(read);
  return new ServedOwner(gate, key, read.keyMs, await serveOwner({ ...read, gate, key }));
}

/** An owner of this process. */
export class ServedOwner implements Owner {
  readonly url: string;
  readonly key: string;
  readonly keyMs: number;
  readonly gate: OwnerGate;
  readonly #listener: OwnerListener;

  constructor(gate: OwnerGate, key: string, keyMs: number, listener: OwnerListener) {
    this.url = listener.url;
    this.key = key;
    this.keyMs = keyMs;
    this.gate = gate;
    this.#listener = listener;
  }

  get workerKey(): string {
    return workerKeyOf(this.key);
  }

  get running(): number {
    return this.gate.calls.running;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.stop();
    const { calls } = this.gate;
    calls.cancelAll(new PortcullisError("runtime_closed", "The owner of the tool closes."));
    await calls.ended();
    await this.#listener.close();
  }
}

/** The given secret, or that of the environment. Throws `option_invalid` if there is none. */
export function secretOf(subject: string, given: string | undefined): string {
  const secret = given ?? process.env[KEY_VARIABLE];
  const { key } = readOptions(subject, { key: secret }, { key: OWNER_RULES.key });
  if (key !== undefined) return key;
  throw new PortcullisError(
    "option_invalid",
    `${subject}({ key }): an owner needs a secret: give key, or set ${KEY_VARIABLE}. Make one with: openssl rand -base64 32`,
  );
}
