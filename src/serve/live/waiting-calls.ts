import type { GuestFrame, HostFrame } from "../../../bridge/frames.ts";
import type { CallRecord } from "../../journal/record.ts";
import { PROGRAM_CALL } from "../../programs/execution-state.ts";
import type { Fields } from "../../values/fields.ts";

/** Calls that an event lists. */
const LISTED = 100;

/**
 * Whether a program waits after its records so far: all its open calls are held. It keeps no inputs, which may be
 * large.
 */
export class WaitingCalls {
  readonly #open = new Set<string>();
  readonly #held = new Map<string, Fields>();
  readonly #timers = new Set<number>();
  #isOver = false;
  /** Whether it waited after the last record. */
  #waits = false;

  open(callId: string): void {
    this.#open.add(callId);
  }

  hold({ call: callId, decision, code, inputDigest, at: since }: CallRecord, tool: string): void {
    const why = code === "outcome_unknown" ? code : "approval";
    const about = { callId, tool, since, ...(inputDigest === undefined ? {} : { inputDigest }) };
    this.#held.set(callId, decision === "held" ? { ...about, why } : about);
  }

  /** A call is decided or answered. */
  said(callId: string): void {
    this.#held.delete(callId);
  }

  turn(event: HostFrame, commands: readonly GuestFrame[]): void {
    this.#close(PROGRAM_CALL);
    if (event.kind === "answer") this.#close(String(event.id));
    else if (event.kind === "fire") this.#timers.delete(event.id);
    else if (event.kind === "stop") this.#isOver = true;
    for (const command of commands) this.#command(command);
  }

  /** The calls that it waits for, if the wait has begun with the last record. */
  begun(): Fields | undefined {
    const waits = this.#isWaiting;
    const begins = waits && !this.#waits;
    this.#waits = waits;
    return begins ? this.#all() : undefined;
  }

  get #isWaiting(): boolean {
    return !this.#isOver && this.#open.size > 0 && this.#held.size === this.#open.size && this.#timers.size === 0;
  }

  #all(): Fields {
    const approvals: Fields[] = [];
    const calls: Fields[] = [];
    for (const call of this.#held.values()) {
      if (approvals.length + calls.length === LISTED) break;
      ("why" in call ? approvals : calls).push(call);
    }
    const more = this.#held.size - approvals.length - calls.length;
    return { type: "waiting", approvals, calls, ...(more === 0 ? {} : { more }) };
  }

  #close(callId: string): void {
    this.#open.delete(callId);
    this.#held.delete(callId);
  }

  #command(command: GuestFrame): void {
    if (command.kind === "call") this.#open.add(String(command.id));
    else if (command.kind === "timer") this.#timers.add(command.id);
    else if (command.kind === "clear") this.#timers.delete(command.id);
    else if (command.kind === "settled") this.#isOver = true;
  }
}
