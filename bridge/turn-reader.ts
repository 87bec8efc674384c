import { type GuestFrame, type Language, PROTOCOL_VERSION } from "./frames.ts";
import { MalformedFrame, parseGuestFrame, TIMERS_AT_ONCE } from "./parse-frame.ts";

/** What a guest did with one event. */
export interface GuestTurn {
  /** Frames it sent, without the one that ended the turn unless that is `settled`. */
  readonly commands: readonly GuestFrame[];
  /** The same as they crossed the bridge. */
  readonly texts: readonly string[];
  /** Whether the program is over. */
  readonly settled: boolean;
}

/** A frame, or a frame at a place, that an honest guest would not have sent. The guest is not to be heard any more. */
export class BridgeViolation extends Error {}

/** What a command takes beside its text where it is kept, in characters' worth. */
const COMMAND_LENGTH = 256;

/** More commands than are kept of a guest. */
export class TextTooLong extends Error {
  /** In characters, as far as it was read. */
  readonly length: number;
  constructor(length: number) {
    super("The guest sent more than can be kept.");
    this.length = length;
  }
}

/** What an event closes: the call it answers or the timer it fires, every call, or nothing. */
export type Closes = number | "calls" | undefined;

/**
 * Cuts a guest's frames into turns, and holds it to the protocol: it greets first and once, speaks only when it
 * was handed an event, numbers its calls and timers strictly upwards, agrees with the host on how many are open,
 * and is silent after it has settled.
 */
export class TurnReader {
  readonly #language: Language;
  readonly #mostLength: number;
  #greeted = false;
  #settled = false;
  #unreplayable = false;
  /** What each event handed over closes. */
  #events: Closes[] = [];
  /** How many of those have had their turns. A long list is dear to take its first from. */
  #ended = 0;
  readonly #open = new Set<number>();
  readonly #timers = new Set<number>();
  #lastId = 0;
  #commands: GuestFrame[] = [];
  #texts: string[] = [];
  /** Of all commands so far, in characters. */
  #length = 0;

  /** `mostLength` is how many characters all commands of the guest together may have: they are all kept. */
  constructor(language: Language, mostLength: number) {
    this.#language = language;
    this.#mostLength = mostLength;
  }

  /** Events handed over whose turns have not ended. */
  get outstanding(): number {
    return this.#events.length - this.#ended;
  }

  /** Notes that an event is on its way. */
  expect(closes: Closes): void {
    this.#events.push(closes);
  }

  /** Takes the next frame, and returns the turn that it ends, if it ends one. Throws a `BridgeViolation` or a `TextTooLong`. */
  read(text: string): GuestTurn | undefined {
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
      if (frame.open !== this.#open.size)
        throw new BridgeViolation(`The guest counts ${frame.open} open calls and timers, the host ${this.#open.size}.`);
      return this.#endTurn(false);
    }
    this.#commands.push(frame);
    this.#texts.push(text);
    this.#length += text.length + COMMAND_LENGTH;
    if (this.#length > this.#mostLength) throw new TextTooLong(this.#length);
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
        this.#lastId = frame.id;
        this.#open.add(frame.id);
        if (frame.kind === "timer") {
          this.#timers.add(frame.id);
          if (this.#timers.size > TIMERS_AT_ONCE)
            throw new BridgeViolation(`The guest has more than ${TIMERS_AT_ONCE} timers open.`);
        }
        return;
      case "clear":
        // A timer may have fired while the guest was clearing it, so only one that never was is a fault.
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
      for (const id of this.#open) if (!this.#timers.has(id)) this.#open.delete(id);
    } else if (closes !== undefined) {
      this.#open.delete(closes);
      this.#timers.delete(closes);
    }
  }

  #endTurn(settled: boolean): GuestTurn {
    const turn = { commands: this.#commands, texts: this.#texts, settled };
    this.#commands = [];
    this.#texts = [];
    this.#ended += 1;
    if (this.#ended === this.#events.length) {
      this.#events = [];
      this.#ended = 0;
    }
    this.#settled = settled;
    return turn;
  }
}
