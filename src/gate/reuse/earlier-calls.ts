/*
 * The calls of earlier executions, for the program that corrects them. A call comes in, as its key; the equal call that
 * stands for it goes out, once.
 */
import { now } from "../../clock.ts";
import type { DecisionRecord, ParentRef } from "../../journal/record.ts";
import { graverEffect } from "../../tools/effect.ts";
import type { Effect, Tool } from "../../tools/tool.ts";
import { toolDigest } from "../../tools/tool-digest.ts";
import type { CallLine } from "../call-line.ts";

/** A call that an earlier execution has made itself. */
export interface EarlierCall extends ParentRef {
  readonly tool: string;
  /** `keyOf` its tool and its input. */
  readonly key: string;
  /** What it changed at most. */
  readonly effect: Effect;
  /** Where it was made, and where it had its answer, among all records of the earlier executions. */
  readonly made: number;
  readonly ended: number;
  /** When it had its answer, in milliseconds since 1970. */
  readonly at: number;
  /** What the program was given; undefined without a value. */
  readonly answer?: EarlierAnswer | undefined;
  /** Whether it may have taken effect, though there is no answer to give. */
  readonly isUnknown: boolean;
  /** Whether its input was redacted. `key` is then that of the redacted input, and it gives no answer. */
  readonly isHidden?: boolean;
  /** The decision that allowed it, if it needed one. */
  readonly approval?: DecisionRecord | undefined;
  /** The call of an execution before, which it was made in the place of. */
  readonly replaces?: ParentRef;
}

export interface EarlierAnswer {
  /** UTF-8 bytes of the value; of a stream, of its items. */
  readonly bytes: number;
  readonly shape: string;
  /** Number of images, files and links that the program did not get. */
  readonly partsLeftOut: number;
  /** Digests of the addresses that the value named. */
  readonly named?: readonly string[] | undefined;
  /** Index of the turn that gave the value, or of each turn that gave a batch of a stream. */
  readonly turns: readonly number[];
  readonly isStream: boolean;
  /** Index of the record that has what the handler said to people, if it said something. */
  readonly display: number | undefined;
}

export type AnsweredCall = EarlierCall & { readonly answer: EarlierAnswer };

export function isAnswered(call: EarlierCall): call is AnsweredCall {
  return call.answer !== undefined;
}

/** Reads from the journals of earlier executions. Its functions reject as a journal does. */
export interface EarlierReader {
  /** JSON text of the value that a call gave. */
  readonly value: (call: EarlierCall) => Promise<string>;
  /** The items of a stream. */
  readonly items: (call: EarlierCall) => AsyncIterable<unknown>;
  /** What the handler has said to people, as JSON text. */
  readonly display: (call: EarlierCall) => Promise<string | undefined>;
}

/** A call, and the equal call of an earlier execution that stands for it. */
export interface StandIn {
  readonly callId: string;
  readonly earlier: ParentRef;
  /** Whether it was given that call's answer. */
  readonly reused: boolean;
}

/** What a driver knows of what drivers before it have done. */
export interface PastReuse {
  readonly standIns: readonly StandIn[];
  /** The calls that have ended, and those that were begun. */
  readonly lines: readonly Pick<CallLine, "tool" | "started" | "effect">[];
}

/** Equal calls, in the order in which they were made. Those before `next` are used, or too old for ever. */
interface Equal {
  readonly calls: EarlierCall[];
  next: number;
}

type Kind = "answered" | "unknown" | "approved";

export interface EarlierCallsParts {
  /** In the order in which they were made. */
  readonly calls: readonly EarlierCall[];
  readonly reader: EarlierReader;
  /** Answers of calls that only read are given again up to this age, in milliseconds. */
  readonly maxAgeMs: number;
}

/**
 * Which call of an earlier execution stands for a call of this one. Each stands for one call at most. What was changed is
 * never changed again by an equal call. What was read is given again as long as it is young, and as nothing was changed
 * after it that this program knows of: neither by a call of its own, nor by one that it was given.
 */
export class EarlierCalls {
  readonly reader: EarlierReader;
  readonly #maxAgeMs: number;
  readonly #equal: Readonly<Record<Kind, Map<string, Equal>>> = {
    answered: new Map(),
    unknown: new Map(),
    approved: new Map(),
  };
  readonly #byRef = new Map<string, EarlierCall>();
  readonly #tools = new Set<string>();
  /** Calls that may have taken effect, and of which only the redacted input is known. */
  readonly #hidden: EarlierCall[] = [];
  /** The calls that stand for one of this execution. */
  readonly #used = new Set<EarlierCall>();
  /** What was read before this is too old: something was changed later. */
  #changedAt = Number.NEGATIVE_INFINITY;

  constructor({ calls, reader, maxAgeMs }: EarlierCallsParts) {
    this.reader = reader;
    this.#maxAgeMs = maxAgeMs;
    for (const call of calls) {
      this.#byRef.set(refText(call), call);
      this.#tools.add(call.tool);
      if (call.isHidden) {
        this.#hidden.push(call);
        continue;
      }
      const ofKind = this.#equal[kindOf(call)];
      const equal = ofKind.get(call.key);
      if (equal) equal.calls.push(call);
      else ofKind.set(call.key, { calls: [call], next: 0 });
    }
  }

  /** Takes over what earlier drivers have used and changed. `effectOf` says what a call of a tool changes. */
  restore({ standIns, lines }: PastReuse, effectOf: (tool: string) => Effect): void {
    for (const { earlier, reused } of standIns) {
      const call = this.find(earlier);
      if (call) this.#use(call, reused);
    }
    for (const { tool, started, effect } of lines) if (started) this.noteMade(effect ?? effectOf(tool));
  }

  /** Whether there may be a call that stands for one of this tool. */
  knows({ name, reusable }: Tool): boolean {
    return reusable !== false && this.#tools.has(name);
  }

  find(ref: ParentRef): EarlierCall | undefined {
    return this.#byRef.get(refText(ref));
  }

  /** What calls with this key have changed at most; undefined if there is none that could stand for another call. */
  effectOf(key: string): Effect | undefined {
    const all = Object.values(this.#equal).flatMap((ofKind) => ofKind.get(key)?.calls ?? []);
    return all.length === 0
      ? undefined
      : all.reduce<Effect>((gravest, { effect }) => graverEffect(effect, gravest), "read");
  }

  /** The call that stands for one with this key and effect, which none other can stand for then. An answer goes before an unknown outcome, and that before an approval. */
  take(key: string, effect: Effect): EarlierCall | undefined {
    for (const kind of KINDS) {
      const equal = this.#equal[kind].get(key);
      const call = equal && this.#next(equal, effect);
      if (!call) continue;
      this.#use(call, kind === "answered");
      return call;
    }
    return undefined;
  }

  hides({ name }: Tool): boolean {
    return this.#hidden.some((call) => call.tool === name && !this.#used.has(call));
  }

  /** Like `take`, among calls whose inputs were redacted. Without a key any of the tool stands for the call: it may be equal. */
  takeHidden({ name }: Tool, key: string | undefined): EarlierCall | undefined {
    const isEqual = (call: EarlierCall) => (key === undefined ? call.tool === name : call.key === key);
    const found = this.#hidden.find((call) => isEqual(call) && !this.#used.has(call));
    if (found) this.#use(found, false);
    return found;
  }

  /** A call of this execution is made that may change something: what was read before may be otherwise now. */
  noteMade(effect: Effect): void {
    if (effect !== "read") this.#changedAt = Number.POSITIVE_INFINITY;
  }

  #next(equal: Equal, effect: Effect): EarlierCall | undefined {
    for (; equal.next < equal.calls.length; equal.next += 1) {
      const call = equal.calls[equal.next] as EarlierCall;
      if (!this.#used.has(call) && (effect !== "read" || this.#isCurrent(call))) return call;
    }
    return undefined;
  }

  /** Whether what a call has read is still to be given: it only becomes older. */
  #isCurrent({ made, at }: EarlierCall): boolean {
    return made >= this.#changedAt && now() - at <= this.#maxAgeMs;
  }

  #use(call: EarlierCall, isGiven: boolean): void {
    this.#used.add(call);
    // A handler whose outcome is unknown may have taken effect after all that was read, whatever is decided about it.
    if (call.isUnknown) this.noteMade(call.effect);
    if (isGiven && call.effect !== "read") this.#changedAt = Math.max(this.#changedAt, call.ended);
  }
}

const KINDS: readonly Kind[] = ["answered", "unknown", "approved"];

function kindOf({ answer, isUnknown }: EarlierCall): Kind {
  if (answer) return "answered";
  return isUnknown ? "unknown" : "approved";
}

function refText({ execution, call }: ParentRef): string {
  return JSON.stringify([execution, call]);
}

/** What calls have in common that are equal: the tool, its definition, and the input by its canonical form. */
export function keyOf(tool: string, definition: string, inputDigest: string): string {
  return JSON.stringify([tool, definition, inputDigest]);
}

export function keyOfCall(tool: Tool, inputDigest: string): string {
  return keyOf(tool.name, toolDigest(tool), inputDigest);
}
