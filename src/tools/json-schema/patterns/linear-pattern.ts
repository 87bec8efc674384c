import { sumOf } from "../../../base/index.ts";
import { CharacterSet } from "./character-set.ts";
import { parsePattern, type Pattern, PatternRefused } from "./parse-pattern.ts";
import { Steps, StepsSpent } from "../steps.ts";

/** Maximum states of one pattern, counted repetitions of groups included. */
const MAX_STATES = 2000;
/** States initialized per step, for each text; also the characters of a text whose places are marked. */
const STATES_A_STEP = 32;
/** Steps of an entry that a counted run keeps. */
const ENTRY_STEPS = 4;

/** What a state does. Only `one` and `run` consume code points; the others hold at a place, or lead on. */
type Kind = "one" | "run" | "fork" | "accept" | "look" | keyof typeof ASSERTIONS;

interface State {
  readonly kind: Kind;
  next: number;
  /** Of a fork. */
  readonly other: number;
  /** Of one code point, and of a run of them. */
  readonly set: CharacterSet;
  /** How many code points a run may have: a counter, however many. */
  readonly min: number;
  readonly max: number;
  /** Of a look-around: its number, and whether it must not hold. */
  readonly look: number;
  readonly negative: boolean;
}

/** What most states have, so that all have one shape: a look at one of them is most of what a test does. */
const USUAL = { other: -1, set: new CharacterSet([]), min: 0, max: 0, look: 0, negative: false } as const;

/** A text, with the places where each look-around holds. */
interface Text {
  readonly text: string;
  readonly looks: Uint8Array[];
}

/**
 * A regular expression that tests a text in a number of steps bounded by about the text's length times the pattern's. Same
 * meaning as in ECMAScript with the flag `u`; a pattern that is none with it is read without it. Throws a `PatternRefused` for a pattern that cannot be matched at that cost.
 */
export class LinearPattern {
  readonly #machine: Machine;
  /** Look-arounds in the order of evaluation: nested look-arounds come first. */
  readonly #looks: ReadonlyMap<Pattern, Look>;
  /** What it costs to hold and to make, counted before anything is made. */
  readonly states: number;

  constructor(source: string, maxStates = MAX_STATES) {
    const { pattern, states } = parsePattern(source);
    this.states = 1 + states + statesOf(pattern);
    if (this.states > MAX_STATES)
      throw new PatternRefused(`has more than ${MAX_STATES} states, those of its repeated groups included`);
    if (this.states > maxStates)
      throw new PatternRefused("has, together with the patterns before it, more states than one schema may have");
    const looks = new Map<Pattern, Look>();
    this.#machine = new Machine(pattern, false, looks);
    this.#looks = looks;
  }

  test(text: string, steps: Steps): boolean {
    const read: Text = { text, looks: [] };
    for (const { machine, behind } of this.#looks.values())
      read.looks.push(machine.placesOf(read, behind ? 1 : -1, steps));
    return this.#machine.run(read, 1, steps, () => true);
  }

  /** The same in so many steps; undefined if finding it out takes more. */
  fits(text: string, steps: number): boolean | undefined {
    try {
      return this.test(text, new Steps(steps));
    } catch (error) {
      if (error instanceof StepsSpent) return undefined;
      throw error;
    }
  }
}

/** A pattern, or why it cannot be matched in linear time: a predicate, "has …". */
export function readPattern(source: string, maxStates?: number): LinearPattern | string {
  try {
    return new LinearPattern(source, maxStates);
  } catch (error) {
    if (error instanceof PatternRefused) return error.message;
    throw error;
  }
}

/** A look-around. Its machine runs towards the place of the assertion. */
interface Look {
  readonly number: number;
  readonly machine: Machine;
  readonly behind: boolean;
}

/** States that a pattern becomes, without its groups and sets. */
function statesOf(pattern: Pattern): number {
  switch (pattern.type) {
    case "sequence":
      return sumOf(pattern.parts, statesOf);
    case "choice":
      return sumOf(pattern.parts, (part) => 1 + statesOf(part));
    case "repeat": {
      const { part, min, max } = pattern;
      if (part.type === "one") return 1;
      return (statesOf(part) + 1) * (max === Infinity ? min + 1 : max);
    }
    case "look":
      return 2 + statesOf(pattern.part);
    default:
      return 1;
  }
}

class Machine {
  readonly #states: State[] = [];
  readonly #looks: Map<Pattern, Look>;
  readonly #backwards: boolean;
  readonly #start: number;
  /** Whether the machine can match at the start of a text only. */
  readonly #anchored: boolean;

  constructor(pattern: Pattern, backwards: boolean, looks: Map<Pattern, Look>) {
    this.#looks = looks;
    this.#backwards = backwards;
    this.#anchored = pattern.type === "sequence" && pattern.parts[0]?.type === "start";
    this.#start = this.#build(pattern, this.#add({ kind: "accept", next: -1 }));
  }

  /** Marks the places of a text where a match ends, for a machine that runs in the given direction. */
  placesOf(text: Text, direction: 1 | -1, steps: Steps): Uint8Array {
    steps.spend(text.text.length / STATES_A_STEP);
    const places = new Uint8Array(text.text.length + 1);
    this.run(text, direction, steps, (at) => {
      places[at] = 1;
      return false;
    });
    return places;
  }

  /** Runs all states at once over the text, with a new start at each place. Ends when `onAccept` returns true. */
  run(whole: Text, direction: 1 | -1, steps: Steps, onAccept: (at: number) => boolean): boolean {
    const { text } = whole;
    const states = this.#states;
    steps.spend(states.length / STATES_A_STEP);
    const seenAt = new Int32Array(states.length).fill(-1);
    /** States at this place that are still to be looked at: two of each state that leads on, and those that lead here. */
    const open = new Stack(states.length * 4 + 1);
    const arriving = new Stack(states.length);
    /** What the runs have read that have read something, by their states, and those states. */
    const runOf: (Run | undefined)[] = [];
    let [running, goingOn] = [new Stack(states.length), new Stack(states.length)];
    for (let at = direction === 1 ? 0 : text.length, read = 0; ; read += 1) {
      if (read === 0 || !this.#anchored || direction === -1) open.push(this.#start);
      if (open.size === 0 && running.size === 0) return false;
      const point = pointBeside(text, at, direction);
      let accepted = false;
      let spent = 1;
      while (running.size > 0) {
        const index = running.pop();
        const state = states[index] as State;
        const run = runOf[index] as Run;
        spent += state.set.steps;
        if (run.mayEnd(read)) open.push(state.next);
        if (point !== undefined && run.goesOn(read + 1) && state.set.has(point)) goingOn.push(index);
        else runOf[index] = undefined;
      }
      while (open.size > 0) {
        const index = open.pop();
        if (seenAt[index] === read) continue;
        seenAt[index] = read;
        const state = states[index] as State;
        spent += state.set.steps;
        switch (state.kind) {
          case "one":
            if (point !== undefined && state.set.has(point)) arriving.push(state.next);
            break;
          case "run":
            if (state.min === 0) open.push(state.next);
            if (point === undefined || !state.set.has(point)) break;
            if (runOf[index] === undefined) goingOn.push(index);
            spent += (runOf[index] ??= new Run(state)).enter(read);
            break;
          case "fork":
            open.push(state.other);
            open.push(state.next);
            break;
          case "accept":
            accepted = true;
            break;
          default:
            if (holds(state, whole, at)) open.push(state.next);
        }
      }
      steps.spend(spent);
      if (accepted && onAccept(at)) return true;
      if (point === undefined) return false;
      at += direction * (point > 0xffff ? 2 : 1);
      while (arriving.size > 0) open.push(arriving.pop());
      [running, goingOn] = [goingOn, running];
    }
  }

  /** Adds the states of a pattern that continues at `next`, and returns its first state. */
  #build(pattern: Pattern, next: number): number {
    switch (pattern.type) {
      case "one":
        return this.#add({ kind: "one", set: pattern.set, next });
      case "sequence":
        return (this.#backwards ? pattern.parts : pattern.parts.toReversed()).reduce(
          (following, part) => this.#build(part, following),
          next,
        );
      case "choice":
        return pattern.parts
          .map((part) => this.#build(part, next))
          .reduce((other, first) => this.#add({ kind: "fork", next: first, other }));
      case "repeat":
        return this.#buildRepeat(pattern, next);
      case "look":
        return this.#buildLook(pattern, next);
      default:
        return this.#add({ kind: pattern.type, next });
    }
  }

  #buildRepeat({ part, min, max }: Extract<Pattern, { type: "repeat" }>, next: number): number {
    if (max === 0) return next;
    if (part.type === "one") return this.#add({ kind: "run", set: part.set, min, max, next });
    let first = next;
    if (max === Infinity) {
      const fork = this.#add({ kind: "fork", next: -1, other: next });
      (this.#states[fork] as State).next = this.#build(part, fork);
      first = fork;
    } else {
      // An optional repetition may be skipped together with all later repetitions.
      for (let further = min; further < max; further += 1)
        first = this.#add({ kind: "fork", next: this.#build(part, first), other: next });
    }
    for (let further = 0; further < min; further += 1) first = this.#build(part, first);
    return first;
  }

  #buildLook(pattern: Extract<Pattern, { type: "look" }>, next: number): number {
    const { part, behind, negative } = pattern;
    // A look-ahead is read backwards, so that its machine ends where the match begins.
    if (!this.#looks.has(pattern)) {
      const machine = new Machine(part, !behind, this.#looks);
      this.#looks.set(pattern, { number: this.#looks.size, machine, behind });
    }
    return this.#add({ kind: "look", look: this.#looks.get(pattern)!.number, negative, next });
  }

  #add(own: Pick<State, "kind" | "next"> & Partial<State>): number {
    return this.#states.push({ ...USUAL, ...own }) - 1;
  }
}

/** Numbers of states. It keeps its memory, which an array gives back whenever it is empty. */
class Stack {
  readonly #numbers: Int32Array;
  size = 0;

  constructor(most: number) {
    this.#numbers = new Int32Array(most);
  }

  push(number: number): void {
    this.#numbers[this.size] = number;
    this.size += 1;
  }

  pop(): number {
    this.size -= 1;
    return this.#numbers[this.size] as number;
  }
}

/** How many code points a run may have read: one number for each place where it was entered, as far as they differ in effect. */
class Run {
  readonly #min: number;
  readonly #max: number;
  /** How much of the text was read at each entry, the earliest first. */
  readonly #entries: number[] = [];
  #first = 0;

  constructor({ min, max }: State) {
    this.#min = min;
    this.#max = max;
  }

  /** Returns the steps that it takes. */
  enter(read: number): number {
    const entries = this.#entries;
    if (entries.length > this.#first) {
      // Without an upper bound the earliest entry may end whenever a later one may. Without a lower one the last goes on longest.
      if (this.#max === Infinity) return 0;
      if (this.#min <= 1) {
        entries[this.#first] = read;
        return 0;
      }
    }
    entries.push(read);
    return ENTRY_STEPS;
  }

  mayEnd(read: number): boolean {
    return read - (this.#entries[this.#first] as number) >= this.#min;
  }

  /** Whether an entry is left after another code point. */
  goesOn(read: number): boolean {
    const entries = this.#entries;
    while (this.#first < entries.length && read - (entries[this.#first] as number) > this.#max) this.#first += 1;
    return this.#first < entries.length;
  }
}

function pointBeside(text: string, at: number, direction: 1 | -1): number | undefined {
  if (direction === 1) return text.codePointAt(at);
  const whole = at > 1 ? text.codePointAt(at - 2) : undefined;
  return whole !== undefined && whole > 0xffff ? whole : at > 0 ? text.charCodeAt(at - 1) : undefined;
}

function holds({ kind, look, negative }: State, { text, looks }: Text, at: number): boolean {
  if (kind === "look") return (looks[look]?.[at] === 1) !== negative;
  return ASSERTIONS[kind as keyof typeof ASSERTIONS](text, at);
}

const ASSERTIONS = {
  start: (_: string, at: number) => at === 0,
  end: (text: string, at: number) => at === text.length,
  boundary: (text: string, at: number) => isWord(text.charCodeAt(at - 1)) !== isWord(text.charCodeAt(at)),
  noBoundary: (text: string, at: number) => isWord(text.charCodeAt(at - 1)) === isWord(text.charCodeAt(at)),
} as const;

function isWord(unit: number): boolean {
  return (unit >= 48 && unit <= 57) || (unit >= 65 && unit <= 90) || unit === 95 || (unit >= 97 && unit <= 122);
}
