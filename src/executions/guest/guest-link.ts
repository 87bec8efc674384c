import { BridgeViolation, type GuestTurn, TurnReader, TextTooLong } from "../../../bridge/turn-reader.ts";
import { type HeldOverdraft, Lane, memoryOf, type Share, type SlicedWork } from "../../base/index.ts";
import type { Exit, Guest, OpenOptions, Sandbox, SandboxLimits } from "../../sandboxes/sandbox.ts";
import { closesOf, type GuestEvent } from "./guest-event.ts";
import type { Limits } from "../limits.ts";

export type LinkEnd =
  | Exit
  | { readonly type: "violation"; readonly detail: string }
  /** It sent more text than `totalBytes` allows, or more in one turn than can be held. */
  | { readonly type: "too_long"; readonly length: number }
  /** There is no room for what it has sent. */
  | { readonly type: "no_room"; readonly overdraft: HeldOverdraft };

export interface LinkOptions extends OpenOptions {
  readonly limits: SandboxLimits & Pick<Limits, "totalBytes">;
  /** Whose lane reads the guest's frames, and which counts them until their turns are taken. */
  readonly share?: Share;
}

class NoRoom extends Error {
  readonly overdraft: HeldOverdraft;

  constructor(overdraft: HeldOverdraft) {
    super("There is no room for what the guest has sent.");
    this.overdraft = overdraft;
  }
}

/** Frames read between two checks whether the lane must yield the host's thread. */
const FRAMES_READ = 16;

export class GuestLink implements AsyncDisposable {
  readonly guest: Guest;
  readonly #reader: TurnReader;
  readonly #lane: Lane;
  readonly #maxBytes: number;
  readonly #share: Share | undefined;
  /** Memory of frames whose turn is not complete, and of turns that are not taken yet. */
  #openBytes = 0;
  #turnBytes = 0;
  #readBytes = 0;
  #sentLength = 0;
  readonly #frames: AsyncIterator<readonly string[], void, undefined>;
  /** Whether all that has arrived was taken, so that more is waited for. */
  isListening = true;

  constructor(guest: Guest, { language, limits, tenant, share }: LinkOptions) {
    this.#share = share;
    this.#lane = share?.lane ?? new Lane(tenant);
    this.#maxBytes = limits.totalBytes + limits.frameBytes;
    this.guest = guest;
    this.#frames = guest.frames[Symbol.asyncIterator]() as AsyncIterator<readonly string[], void, undefined>;
    this.#reader = new TurnReader(language, Math.min(share?.allowed ?? this.#maxBytes, this.#maxBytes));
  }

  static async open(sandbox: Sandbox, options: LinkOptions, signal: AbortSignal): Promise<GuestLink> {
    return new GuestLink(await sandbox.open(options, signal), options);
  }

  get outstanding(): number {
    return this.#reader.outstanding;
  }

  /** Approximate length of the text that has crossed so far, in both directions. */
  get movedBytes(): number {
    return this.#readBytes + this.#sentLength;
  }

  send(events: readonly GuestEvent[]): void {
    for (const event of events) {
      this.#reader.expect(closesOf(event));
      this.#sentLength += event.text.length;
    }
    this.guest.send(events.map(({ text, pieces }) => pieces ?? text));
  }

  nextTurns(): Promise<readonly GuestTurn[] | LinkEnd> {
    this.isListening = true;
    return this.#frames.next().then(({ done, value: frames }) => {
      this.isListening = false;
      if (done) return this.guest.exit;
      const turns = this.#read(frames);
      return turns instanceof Promise || isNoTurn(turns) ? this.#untilTurn(turns) : turns;
    });
  }

  async #untilTurn(
    first: readonly GuestTurn[] | LinkEnd | Promise<readonly GuestTurn[] | LinkEnd>,
  ): Promise<readonly GuestTurn[] | LinkEnd> {
    let turns = await first;
    while (isNoTurn(turns)) {
      this.isListening = true;
      const { done, value: frames } = await this.#frames.next();
      this.isListening = false;
      turns = await (done ? this.guest.exit : this.#read(frames));
    }
    return turns;
  }

  /** Returns a promise only if it must wait, because it runs for every turn. */
  #read(frames: readonly string[]): readonly GuestTurn[] | LinkEnd | Promise<readonly GuestTurn[] | LinkEnd> {
    try {
      const turns = this.#lane.work(this.#turnsOf(frames));
      return turns instanceof Promise ? turns.catch((error: unknown) => this.#refuse(error)) : turns;
    } catch (error) {
      return this.#refuse(error);
    }
  }

  #refuse(error: unknown): LinkEnd {
    if (!(error instanceof BridgeViolation || error instanceof TextTooLong || error instanceof NoRoom)) throw error;
    this.guest.kill(error.message);
    if (error instanceof NoRoom) return { type: "no_room", overdraft: error.overdraft };
    return error instanceof TextTooLong
      ? { type: "too_long", length: error.length }
      : { type: "violation", detail: error.message };
  }

  *#turnsOf(frames: readonly string[]): SlicedWork<readonly GuestTurn[]> {
    const turns: GuestTurn[] = [];
    for (const [index, text] of frames.entries()) {
      const bytes = memoryOf(text);
      this.#readBytes += bytes;
      if (this.#readBytes > this.#maxBytes) throw new TextTooLong(this.#readBytes);
      const overdraft = this.#share?.hold(bytes);
      if (overdraft) throw new NoRoom(overdraft);
      this.#openBytes += bytes;
      const turn = this.#reader.read(text, bytes);
      if (turn) {
        turns.push(turn);
        this.#turnBytes += this.#openBytes;
        this.#openBytes = 0;
      }
      // Else such a guest would have answers pile up that count as read.
      if (turn && (this.guest.unsent ?? 0) > this.outstanding)
        throw new BridgeViolation("The guest ended the turn of an event that it was not sent yet.");
      if (index % FRAMES_READ === 0) yield;
    }
    return turns;
  }

  /** The turns that were read are counted by others from here on, or held no more. */
  giveBackTurns(): void {
    this.#share?.giveBack(this.#turnBytes);
    this.#turnBytes = 0;
  }

  /** The guest has ended: nothing of what it has sent is read on. */
  noteEnd(): void {
    this.giveBackTurns();
    this.#share?.giveBack(this.#openBytes);
    this.#openBytes = 0;
  }

  /** Releases the guest to its sandbox, or kills it if it still has events: it may still be running code for them. */
  release(): void {
    if (this.outstanding === 0) this.guest.release();
    else this.guest.kill("it settled while other events were outstanding");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.noteEnd();
    await this.guest[Symbol.asyncDispose]();
  }
}

export function areTurns(heard: readonly GuestTurn[] | LinkEnd): heard is readonly GuestTurn[] {
  return Array.isArray(heard);
}

function isNoTurn(heard: readonly GuestTurn[] | LinkEnd): boolean {
  return areTurns(heard) && heard.length === 0;
}
