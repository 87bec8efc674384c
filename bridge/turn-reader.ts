import { type GuestFrame, type Language, PROTOCOL_VERSION } from "./frames.ts";
import { MalformedFrame, parseGuestFrame, TIMERS_AT_ONCE } from "./parse-frame.ts";

/** The guest's reply to one event. */
export interface GuestTurn {
  /** Frames that it sent, including a final `settled` and without a final `turn_end`. */
  readonly commands: readonly GuestFrame[];
  /** The texts of `commands`, as they crossed the bridge. */
  readonly texts: readonly string[];
  /** The memory of each of `texts`, in bytes. */
  readonly sizes: readonly number[];
  /** Whether the program has settled. */
  readonly settled: boolean;
}

/** The guest sent a malformed frame, or a frame that is not allowed at this point. No more of its frames may be read. */
export class BridgeViolation extends Error {}

/** Ended events that are kept: dropping many at once takes little time for each. */
const EVENTS_KEPT = 10_000;

/** Memory that a kept command takes besides its text, in bytes. */
const COMMAND_BYTES = 256;

/** Ids that a guest may skip: who chooses among many could choose those that a map finds slowly. */
export const IDS_SKIPPED = 1000;

/** The commands of a turn are longer than the allowed length. */
export class TextTooLong extends Error {
  /** Memory of the commands read so far, in bytes. */
  readonly length: number;
  constructor(length: number) {
    super("The guest sent more in one turn than can be held.");
    this.length = length;
  }
}

/**
 * What an event does to what is open: it closes the call it answers or the timer it fires, or every call; it hands over
 * a batch of a stream; it tells which tools stream; or it does nothing.
 */
export type Closes =
  | number
  | "calls"
  | { readonly batchOf: number }
  | { readonly streams: readonly string[] }
  | undefined;

/**
 * Groups a guest's frames into turns, and checks that the guest keeps the protocol. It sends `ready` first and once,
 * other frames only after it was handed an event, and nothing after `settled`. It numbers calls and timers in strictly
 * increasing order, and agrees with the host on how many are open.
 */
export class TurnReader {
  readonly #language: Language;
  readonly #maxBytes: number;
  #greeted = false;
  #settled = false;
  #unreplayable = false;
  /** What each event that was handed over closes. */
  readonly #events: Closes[] = [];
  /** Number of `#events` that have had their turns. They stay, because removing a long list's first entry is slow. */
  #ended = 0;
  readonly #calls = new Set<number>();
  /** Names of the tools whose calls are streams. */
  #streaming: ReadonlySet<string> = new Set();
  /** Those of the open calls that are streams. */
  readonly #streams = new Set<number>();
  /** Batches of each open stream for which the guest has not asked for another. */
  readonly #batches = new Map<number, number>();
  readonly #timers = new Set<number>();
  #lastId = 0;
  #firstId = 0;
  /** Number of ids so far. */
  #ids = 0;
  #commands: GuestFrame[] = [];
  #texts: string[] = [];
  #sizes: number[] = [];
  /** Memory of the turn's commands so far. */
  #bytes = 0;

  /** `maxBytes` limits the memory of one turn's commands, because a turn is read as a whole. */
  constructor(language: Language, maxBytes: number) {
    this.#language = language;
    this.#maxBytes = maxBytes;
  }

  /** Events handed over whose turns have not ended. */
  get outstanding(): number {
    return this.#events.length - this.#ended;
  }

  /** Announces an event that is being handed to the guest. */
  expect(closes: Closes): void {
    this.#events.push(closes);
  }

  /**
   * Reads the next frame, whose text takes `bytes` of memory. Returns the turn that the frame ends, if it ends a turn. Throws a
   * `BridgeViolation` or a `TextTooLong`.
   */
  read(text: string, bytes: number): GuestTurn | undefined {
    const frame = parseGuestFrame(text);
    if (frame instanceof MalformedFrame)
      throw new BridgeViolation(`The guest sent a malformed frame: ${frame.reason}.`);
    if (!this.#greeted) return this.#greet(frame);
    if (this.#settled) throw new BridgeViolation(`The guest sent "${frame.kind}" after it had settled.`);
    if (this.outstanding === 0)
      throw new BridgeViolation(`The guest sent "${frame.kind}" though it was handed no event.`);
    if (this.#commands.length === 0) this.#close(this.#events[this.#ended]);
    this.#check(frame);
    if (frame.kind === "turn_end") {
      const open = this.#calls.size + this.#timers.size;
      if (frame.open !== open)
        throw new BridgeViolation(`The guest counts ${frame.open} open calls and timers, the host ${open}.`);
      return this.#endTurn(false);
    }
    this.#commands.push(frame);
    this.#texts.push(text);
    this.#sizes.push(bytes);
    this.#bytes += bytes + COMMAND_BYTES;
    if (this.#bytes > this.#maxBytes) throw new TextTooLong(this.#bytes);
    if (frame.kind === "settled") return this.#endTurn(true);
    return undefined;
  }

  #greet(frame: GuestFrame): undefined {
    if (frame.kind !== "ready") throw new BridgeViolation(`The guest began with "${frame.kind}".`);
    if (frame.protocol !== PROTOCOL_VERSION)
      throw new BridgeViolation(
        `The guest speaks version ${frame.protocol} of the protocol, the host version ${PROTOCOL_VERSION}.`,
      );
    if (frame.language !== this.#language)
      throw new BridgeViolation(`The guest runs ${frame.language}, not ${this.#language}.`);
    this.#greeted = true;
  }

  #check(frame: GuestFrame): void {
    switch (frame.kind) {
      case "call":
      case "timer":
        if (frame.id <= this.#lastId)
          throw new BridgeViolation(`The guest used the id ${frame.id} after ${this.#lastId}: ids only rise.`);
        if (this.#ids === 0) this.#firstId = frame.id;
        this.#ids += 1;
        if (frame.id - this.#firstId > 2 * this.#ids + IDS_SKIPPED)
          throw new BridgeViolation(`The guest used the id ${frame.id}: it skips too many.`);
        this.#lastId = frame.id;
        if (frame.kind === "call") {
          this.#calls.add(frame.id);
          if (this.#streaming.has(frame.tool)) this.#streams.add(frame.id);
        } else this.#timers.add(frame.id);
        if (this.#timers.size > TIMERS_AT_ONCE)
          throw new BridgeViolation(`The guest has more than ${TIMERS_AT_ONCE} timers open.`);
        return;
      case "next":
        if (!this.#batches.has(frame.id))
          throw new BridgeViolation(`The guest asked for a batch of ${frame.id}, which it was not due.`);
        this.#noteBatch(frame.id, -1);
        return;
      case "cancel":
        // The stream may have ended while the guest cancelled it, so an id that is closed is no violation.
        if (frame.id > this.#lastId || this.#isOtherThanStream(frame.id))
          throw new BridgeViolation(`The guest cancelled ${frame.id}, which is no stream.`);
        this.#close(frame.id);
        return;
      case "clear":
        // The timer may have fired while the guest cleared it, so only an id that was never used is a violation.
        if (frame.id > this.#lastId) throw new BridgeViolation(`The guest cleared ${frame.id}, which is no timer.`);
        if (this.#timers.has(frame.id)) this.#close(frame.id);
        return;
      case "unreplayable":
        if (this.#unreplayable) throw new BridgeViolation("The guest said twice that it cannot be replayed.");
        this.#unreplayable = true;
        return;
      case "ready":
        throw new BridgeViolation("The guest greeted twice.");
      default:
    }
  }

  #close(closes: Closes): void {
    if (closes === "calls") {
      this.#calls.clear();
      this.#streams.clear();
      this.#batches.clear();
    } else if (typeof closes === "object") {
      if ("streams" in closes) this.#streaming = new Set(closes.streams);
      else if (this.#streams.has(closes.batchOf)) this.#noteBatch(closes.batchOf, 1);
    } else if (closes !== undefined) {
      this.#calls.delete(closes);
      this.#streams.delete(closes);
      this.#batches.delete(closes);
      this.#timers.delete(closes);
    }
  }

  #isOtherThanStream(id: number): boolean {
    return (this.#calls.has(id) && !this.#streams.has(id)) || this.#timers.has(id);
  }

  #noteBatch(id: number, change: number): void {
    const due = (this.#batches.get(id) ?? 0) + change;
    if (due === 0) this.#batches.delete(id);
    else this.#batches.set(id, due);
  }

  #endTurn(settled: boolean): GuestTurn {
    const turn = { commands: this.#commands, texts: this.#texts, sizes: this.#sizes, settled };
    this.#commands = [];
    this.#texts = [];
    this.#sizes = [];
    this.#bytes = 0;
    this.#ended += 1;
    if (this.#ended === this.#events.length || this.#ended === EVENTS_KEPT) {
      this.#events.splice(0, this.#ended);
      this.#ended = 0;
    }
    this.#settled = settled;
    return turn;
  }
}
