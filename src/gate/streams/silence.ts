import { after, cancel, type Timer } from "../../base/index.ts";
import type { OpenCall } from "../open-call.ts";

/**
 * Measures how long a handler gives no item, and calls back after its tool's time. The time in which an agent waited for
 * approvals alone is no silence of the tool.
 */
export class Silence {
  readonly #call: OpenCall;
  readonly #onSilent: () => void;
  /** Time for approvals up to where the handler was asked for the last item. */
  #approvalMs = 0;
  #timer: Timer | undefined;
  #hasEnded = false;

  constructor(call: OpenCall, onSilent: () => void) {
    this.#call = call;
    this.#onSilent = onSilent;
  }

  /** The handler is asked for an item. */
  listen(): void {
    if (this.#hasEnded) return;
    this.#approvalMs = this.#call.approvalMs;
    if (this.#timer) this.#timer.refresh();
    else this.#timer = after(this.#call.tool.timeoutMs, () => this.#onTime());
  }

  end(): void {
    this.#hasEnded = true;
    cancel(this.#timer);
  }

  #onTime(): void {
    if (this.#call.approvalMs - this.#approvalMs >= 1) this.listen();
    else this.#onSilent();
  }
}
