import { BridgeViolation, type Closes, type GuestTurn, TurnReader, TextTooLong } from "../../../bridge/turn-reader.ts";
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

/** Frames read between two checks whether the lane must yield the host's thread. */
const FRAMES_READ = 16;

type Heard = readonly GuestTurn[] | LinkEnd;

/** `share`: whose lane reads the guest's frames, and which counts them until their turns are taken. */
export function guestLink(guest: Guest, options: LinkOptions) {
  const lane = options.share?.lane ?? new Lane(options.tenant);
  const frames = guest.frames[Symbol.asyncIterator]();
  const reader = turnReader(guest, options);
  let sentLength = 0;
  let isListening = true;

  const isNoTurn = (heard: Heard) => areTurns(heard) && heard.length === 0;
  const read = ({ done, value }: IteratorResult<readonly string[], unknown>): Heard | Promise<Heard> => {
    isListening = false;
    return done ? guest.exit : readTurns(guest, lane, reader.turnsOf(value));
  };
  const untilTurn = async (first: Heard | Promise<Heard>): Promise<Heard> => {
    let heard = await first;
    while (isNoTurn(heard)) {
      isListening = true;
      heard = await read(await frames.next());
    }
    return heard;
  };
  /** A turn that came whole, as nearly all do, costs one promise. */
  const nextTurns = (): Promise<Heard> => {
    isListening = true;
    return frames.next().then((frame) => {
      const heard = read(frame);
      return heard instanceof Promise || isNoTurn(heard) ? untilTurn(heard) : heard;
    });
  };

  return {
    guest,
    nextTurns,
    noteEnd: reader.noteEnd,
    giveBackTurns: reader.giveBackTurns,

    /** Whether all that has arrived was taken, so that more is waited for. */
    get isListening(): boolean {
      return isListening;
    },

    get outstanding(): number {
      return reader.outstanding;
    },

    /** Approximate length of the text that has crossed so far, in both directions. */
    get movedBytes(): number {
      return reader.readBytes + sentLength;
    },

    send(events: readonly GuestEvent[]): void {
      for (const event of events) {
        reader.expect(closesOf(event));
        sentLength += event.text.length;
      }
      guest.send(events.map(({ text, pieces }) => pieces ?? text));
    },

    /** Releases the guest to its sandbox, or kills it if it still has events: it may still be running code for them. */
    release(): void {
      if (reader.outstanding === 0) guest.release();
      else guest.kill("it settled while other events were outstanding");
    },

    async [Symbol.asyncDispose](): Promise<void> {
      reader.noteEnd();
      await guest[Symbol.asyncDispose]();
    },
  };
}

/** Reads a guest's frames, and holds their memory until their turns are taken. */
function turnReader(guest: Guest, { language, limits, share }: LinkOptions) {
  const maxBytes = limits.totalBytes + limits.frameBytes;
  const reader = new TurnReader(language, Math.min(share?.allowed ?? maxBytes, maxBytes));
  /** Memory of frames whose turn is not complete, and of turns that are not taken yet. */
  let openBytes = 0;
  let turnBytes = 0;
  let readBytes = 0;
  return {
    expect: (closes: Closes) => reader.expect(closes),

    get outstanding(): number {
      return reader.outstanding;
    },

    get readBytes(): number {
      return readBytes;
    },

    *turnsOf(texts: readonly string[]): SlicedWork<Heard> {
      const turns: GuestTurn[] = [];
      for (const [index, text] of texts.entries()) {
        const bytes = memoryOf(text);
        readBytes += bytes;
        if (readBytes > maxBytes) throw new TextTooLong(readBytes);
        const overdraft = share?.hold(bytes);
        if (overdraft) {
          guest.kill("There is no room for what the guest has sent.");
          return { type: "no_room", overdraft };
        }
        openBytes += bytes;
        const turn = reader.read(text, bytes);
        if (turn) {
          turns.push(turn);
          turnBytes += openBytes;
          openBytes = 0;
        }
        // Else such a guest would have answers pile up that count as read.
        if (turn && (guest.unsent ?? 0) > reader.outstanding)
          throw new BridgeViolation("The guest ended the turn of an event that it was not sent yet.");
        if (index % FRAMES_READ === 0) yield;
      }
      return turns;
    },

    /** The turns that were read are counted by others from here on, or held no more. */
    giveBackTurns: (): void => {
      share?.giveBack(turnBytes);
      turnBytes = 0;
    },

    /** The guest has ended: nothing of what it has sent is read on. */
    noteEnd: (): void => {
      share?.giveBack(turnBytes + openBytes);
      turnBytes = 0;
      openBytes = 0;
    },
  };
}

export type GuestLink = ReturnType<typeof guestLink>;

/** Returns a promise only if it must wait, because it runs for every turn. */
function readTurns(guest: Guest, lane: Lane, reading: SlicedWork<Heard>): Heard | Promise<Heard> {
  const refuse = (error: unknown): LinkEnd => {
    if (!(error instanceof BridgeViolation || error instanceof TextTooLong)) throw error;
    guest.kill(error.message);
    return error instanceof TextTooLong
      ? { type: "too_long", length: error.length }
      : { type: "violation", detail: error.message };
  };
  try {
    const turns = lane.work(reading);
    return turns instanceof Promise ? turns.catch(refuse) : turns;
  } catch (error) {
    return refuse(error);
  }
}

export async function openLink(sandbox: Sandbox, options: LinkOptions, signal: AbortSignal): Promise<GuestLink> {
  return guestLink(await sandbox.open(options, signal), options);
}

export function areTurns(heard: readonly GuestTurn[] | LinkEnd): heard is readonly GuestTurn[] {
  return Array.isArray(heard);
}
