import type { Language } from "../../bridge/frames.ts";
import { BridgeViolation, type Closes, type GuestTurn, TurnReader } from "../../bridge/turn-reader.ts";
import type { Exit, Guest, OpenOptions, Sandbox } from "../sandboxes/sandbox.ts";

/** An event for the guest: its text, and what it closes on the guest's side. */
export interface GuestEvent {
  readonly text: string;
  readonly closes: Closes;
}

/** Why no more turns come. */
export type LinkEnd = Exit | { readonly type: "violation"; readonly detail: string };

/** A guest, spoken to in events and heard in turns. */
export class GuestLink implements AsyncDisposable {
  readonly guest: Guest;
  readonly #reader: TurnReader;
  readonly #frames: AsyncIterator<readonly string[], void, undefined>;

  constructor(guest: Guest, language: Language) {
    this.guest = guest;
    this.#frames = guest.frames[Symbol.asyncIterator]() as AsyncIterator<readonly string[], void, undefined>;
    this.#reader = new TurnReader(language);
  }

  static async open(sandbox: Sandbox, options: OpenOptions, signal: AbortSignal): Promise<GuestLink> {
    return new GuestLink(await sandbox.open(options, signal), options.language);
  }

  /** Events whose turns have not been read. */
  get outstanding(): number {
    return this.#reader.outstanding;
  }

  send(events: readonly GuestEvent[]): void {
    for (const { closes } of events) this.#reader.expect(closes);
    this.guest.send(events.map(({ text }) => text));
  }

  /** The next turns, all that ended together; or why there are no more. */
  async nextTurns(): Promise<readonly GuestTurn[] | LinkEnd> {
    for (;;) {
      const { done, value: frames } = await this.#frames.next();
      if (done) return await this.guest.exit;
      const turns = this.#read(frames);
      if (!areTurns(turns) || turns.length > 0) return turns;
    }
  }

  #read(frames: readonly string[]): readonly GuestTurn[] | LinkEnd {
    const turns: GuestTurn[] = [];
    try {
      for (const text of frames) {
        const turn = this.#reader.read(text);
        if (turn) turns.push(turn);
      }
    } catch (error) {
      if (!(error instanceof BridgeViolation)) throw error;
      this.guest.kill(error.message);
      return { type: "violation", detail: error.message };
    }
    return turns;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.guest[Symbol.asyncDispose]();
  }
}

/** What an event closes, read from its text: for events that come from a journal. */
export function eventOf(text: string): GuestEvent {
  const end = text.indexOf("\n");
  const header = JSON.parse(end < 0 ? text : text.slice(0, end)) as { readonly kind: string; readonly id?: number };
  return { text, closes: header.kind === "stop" ? "calls" : header.id };
}

/** Whether turns came, and not the end. */
export function areTurns(heard: readonly GuestTurn[] | LinkEnd): heard is readonly GuestTurn[] {
  return Array.isArray(heard);
}
