/*
 * The calls of the execution before, for the program that corrects it. A call comes in, as its key; the equal call that
 * stands for it goes out, once.
 */
import { type ExecutionId, now, quickKey, type SlicedWork } from "../../base/index.ts";
import type { EarlierRecord, ParentRef } from "../../journal/record.ts";
import { graverEffect } from "../../tools/effect.ts";
import type { Effect, Tool } from "../../tools/tool.ts";
import { toolDigest } from "../../tools/tool-digest.ts";
import type { CallLine } from "../call-line.ts";

/** A call of the execution before, or a change that the executions before that one have made. */
export interface EarlierCall extends ParentRef {
  /** The execution before whose journal tells of it. */
  readonly source: ExecutionId;
  readonly tool: string;
  /** `keyOf` its tool and its input. */
  readonly key: string;
  readonly effect: Effect;
  /** Where it was made, and where it had its answer, among the records of the execution before. */
  readonly position: number;
  readonly ended: number;
  /** When it had its answer, in milliseconds since 1970. */
  readonly at: number;
  /** What the program was given; undefined if it may have taken effect, though there is no answer to give. */
  readonly answer?: EarlierAnswer | undefined;
  /** Whether its input was redacted. `key` is then that of the redacted input, and it gives no answer. */
  readonly isHidden?: true | undefined;
  /** The decision that allowed it, if it has an answer and needed one. `call` names the execution, too. */
  readonly approval?: EarlierRecord["approval"] | undefined;
}

export interface EarlierAnswer {
  /** UTF-8 bytes of the value; of a stream, of its items. */
  readonly bytes: number;
  readonly shape: string;
  /** Number of images, files and links that the program did not get. */
  readonly partsLeftOut: number;
  readonly named?: readonly string[] | undefined;
  /** Index of the record that has the value, or of each one that has a batch of a stream. */
  readonly records: readonly number[];
  readonly isStream: boolean;
  /** Index of the record that has what the handler said to people, if it said something. */
  readonly display: number | undefined;
}

export type AnsweredCall = EarlierCall & { readonly answer: EarlierAnswer };

export function isAnsweredEarlier(call: EarlierCall): call is AnsweredCall {
  return call.answer !== undefined;
}

/** Reads from the journals of the executions before. Its functions reject as a journal does. */
export interface EarlierReader {
  readonly value: (call: EarlierCall) => Promise<string>;
  readonly items: (call: EarlierCall) => AsyncIterable<unknown>;
  readonly display: (call: EarlierCall) => Promise<string | undefined>;
}

/** A call, and the equal call of an earlier execution that stands for it. */
export interface StandIn {
  readonly callId: string;
  readonly earlier: ParentRef;
  readonly reused: boolean;
}

/** What a driver knows of what drivers before it have done. */
export interface PastReuse {
  readonly standIns: readonly StandIn[];
  readonly lines: readonly Pick<CallLine, "tool" | "started" | "effect">[];
}

/** The call that started an execution. */
export interface UsedBelow {
  readonly callId: string;
  /** Earlier calls that stand for calls of what the calls of its session have started, as `refText`: by which of these calls. */
  readonly used?: Map<string, string>;
}

/** Calls in the order in which they were made, by a key of theirs. */
class Lines extends Map<string, { readonly calls: EarlierCall[]; next: number }> {
  add(key: string, call: EarlierCall): void {
    const line = this.get(key);
    if (line) line.calls.push(call);
    else this.set(key, { calls: [call], next: 0 });
  }

  /** Those before the first one are used, or too old for ever. */
  first(key: string, isLeft: (call: EarlierCall) => boolean): EarlierCall | undefined {
    const line = this.get(key) ?? { calls: [], next: 0 };
    for (let call = line.calls[line.next]; call; call = line.calls[(line.next += 1)]) if (isLeft(call)) return call;
    return undefined;
  }
}

/**
 * Which call of the execution before stands for a call of this one. Each stands for one call at most. What was changed is
 * never changed again by an equal call. What was read is given again as long as it is young, and as nothing was changed
 * after it that this program knows of: neither by a call of its own, nor by one that it was given.
 */
export class EarlierCalls {
  readonly reader: EarlierReader;
  readonly #maxAgeMs: number;
  /** An answer goes before an unknown outcome. */
  readonly #equal = { answered: new Lines(), unknown: new Lines() };
  /** What calls with a key have changed at most. */
  readonly #effects = new Map<string, Effect>();
  readonly #byRef = new Map<string, EarlierCall>();
  readonly #tools = new Set<string>();
  /** Calls that may have taken effect, and of which only the redacted input is known: by tool, and by key. */
  readonly #hidden = { ofTool: new Lines(), equal: new Lines() };
  /** The calls that stand for one of this execution, or of another program of its conversation. */
  readonly #used: Map<string, string>;
  readonly #usedBy: string;
  /** What was read before this is too old: something was changed later. */
  #changedAt = -Infinity;

  /** Answers of calls that only read are given again up to `maxAgeMs`, in milliseconds. */
  constructor(reader: EarlierReader, maxAgeMs: number, above?: UsedBelow) {
    this.reader = reader;
    this.#maxAgeMs = maxAgeMs;
    this.#used = above?.used ?? new Map();
    this.#usedBy = above?.callId ?? "";
  }

  *add(calls: readonly EarlierCall[]): SlicedWork<void> {
    for (const call of calls) {
      yield;
      const { key, tool, effect } = call;
      this.#byRef.set(refText(call), call);
      this.#tools.add(tool);
      if (call.isHidden) {
        this.#hidden.ofTool.add(tool, call);
        this.#hidden.equal.add(key, call);
        continue;
      }
      this.#effects.set(key, graverEffect(effect, this.#effects.get(key) ?? "read"));
      this.#equal[call.answer ? "answered" : "unknown"].add(key, call);
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
  knows({ name }: Tool): boolean {
    return this.#tools.has(name);
  }

  find(ref: ParentRef): EarlierCall | undefined {
    return this.#byRef.get(refText(ref));
  }

  /** What calls with this key have changed at most; undefined if there is none that could stand for another call. */
  effectOf(key: string): Effect | undefined {
    return this.#effects.get(key);
  }

  /** The call that stands for one with this key and effect, which none other can stand for then. */
  take(key: string, effect: Effect): EarlierCall | undefined {
    const isLeft = (call: EarlierCall) => this.isLeft(call) && (effect !== "read" || this.#isCurrent(call));
    const { answered, unknown } = this.#equal;
    const call = answered.first(key, isLeft) ?? unknown.first(key, isLeft);
    return call && this.#use(call, call.answer !== undefined);
  }

  hides({ name }: Tool): boolean {
    return this.#hidden.ofTool.first(name, (call) => this.isLeft(call)) !== undefined;
  }

  /** Like `take`, among calls whose inputs were redacted. Without a key any of the tool stands for the call: it may be equal. */
  takeHidden({ name }: Tool, key: string | undefined): EarlierCall | undefined {
    const { ofTool, equal } = this.#hidden;
    const isLeft = (call: EarlierCall) => this.isLeft(call);
    const found = key === undefined ? ofTool.first(name, isLeft) : equal.first(key, isLeft);
    return found && this.#use(found, false);
  }

  /** A call of this execution is made that may change something: what was read before may be otherwise now. */
  noteMade(effect: Effect): void {
    if (effect !== "read") this.#changedAt = Infinity;
  }

  isLeft(call: EarlierCall): boolean {
    return !this.#used.has(refText(call));
  }

  /** Whether what a call has read is still to be given: it only becomes older. */
  #isCurrent({ position, at }: EarlierCall): boolean {
    return position >= this.#changedAt && now() - at <= this.#maxAgeMs;
  }

  #use(call: EarlierCall, isGiven: boolean): EarlierCall {
    this.#used.set(refText(call), this.#usedBy);
    // A handler whose outcome is unknown may have taken effect after all that was read, whatever is decided about it.
    if (!call.answer) this.noteMade(call.effect);
    if (isGiven && call.effect !== "read") this.#changedAt = Math.max(this.#changedAt, call.ended);
    return call;
  }
}

export function refText({ execution, call }: ParentRef): string {
  return String(quickKey(JSON.stringify([execution, call])));
}

/** What calls have in common that are equal: the tool, its definition, and the input by its canonical form. */
export function keyOf(tool: string, definition: string, inputDigest: string): string {
  return JSON.stringify([tool, definition, inputDigest]);
}

export function keyOfCall(tool: Tool, inputDigest: string): string {
  return keyOf(tool.name, toolDigest(tool), inputDigest);
}
