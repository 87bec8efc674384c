import { parsePattern, type Pattern, PatternRefused } from "./parse-pattern.ts";
import type { Steps } from "../steps.ts";

/** Maximum states of one pattern, counted repetitions included. */
const MAX_STATES = 20_000;

/** One state of a machine. Only `one` consumes a code point. `-1` means no state. */
interface State {
  readonly type: "one" | "fork" | "assert" | "accept";
  readonly matches?: (codePoint: number) => boolean;
  readonly holds?: (text: Text, at: number) => boolean;
  next: number;
  other: number;
}

/** States of a pattern so far, including its look-arounds. */
interface StateCount {
  states: number;
  readonly max: number;
}

/** A text as code points, with the places where each look-around holds. */
interface Text {
  readonly points: Uint32Array;
  readonly looks: ReadonlyMap<Pattern, Uint8Array>;
}

/**
 * A regular expression that tests a text in a number of steps bounded by about the text's length times the pattern's. Same
 * meaning as in ECMAScript with the flag `u`. Throws a `PatternRefused` for a pattern that cannot be matched at that cost.
 */
export class LinearPattern {
  readonly #machine: Machine;
  /** Look-arounds in the order of evaluation: nested look-arounds come first. */
  readonly #looks: ReadonlyMap<Pattern, Look>;
  /** V8's own matcher, used if it cannot backtrack on this pattern. */
  readonly #plain: RegExp | undefined;
  readonly states: number;

  constructor(source: string, maxStates = MAX_STATES) {
    const pattern = parsePattern(source);
    const count = { states: 0, max: Math.min(maxStates, MAX_STATES) };
    const looks = new Map<Pattern, Look>();
    this.#machine = new Machine(pattern, false, looks, count);
    this.#looks = looks;
    this.states = count.states;
    this.#plain = count.states <= PLAIN_STATES && isPlain(pattern) ? new RegExp(source, "u") : undefined;
  }

  test(text: string, steps: Steps): boolean {
    if (this.#plain) {
      steps.spend(1 + (text.length * this.states) / PLAIN_STEPS);
      return this.#plain.test(text);
    }
    return this.#machine.isFound(this.#read(text, steps), steps);
  }

  /**
   * Number of code points of a text with which a match from its start could begin: where the first is that fits nowhere, or
   * the length of the text if more of it is missing. For a text that a pattern with `^` and `$` does not match.
   */
  reach(text: string, steps: Steps): number {
    return this.#machine.reach(this.#read(text, steps), steps);
  }

  #read(text: string, steps: Steps): Text {
    steps.spend(text.length);
    const points = codePointsOf(text);
    const holding = new Map<Pattern, Uint8Array>();
    const whole: Text = { points, looks: holding };
    for (const [pattern, { machine, behind }] of this.#looks)
      holding.set(pattern, machine.placesOf(whole, behind ? 1 : -1, steps));
    return whole;
  }
}

/** States initialized per step, for each text. */
const STATES_A_STEP = 32;
/** Characters times states that V8's own matcher handles per step. */
const PLAIN_STEPS = 20;
/** Maximum states for V8's own matcher, which must compile them. */
const PLAIN_STATES = 2000;

/** A look-around. Its machine runs towards the place of the assertion. */
interface Look {
  readonly machine: Machine;
  readonly behind: boolean;
}

/** Whether a pattern is anchored at the start and has at most one part of variable length, which is a single class. Then V8 reads the text at most once per state. */
function isPlain(pattern: Pattern): boolean {
  return pattern.type === "sequence" && pattern.parts[0]?.type === "start" && openParts(pattern) <= 1;
}

function openParts(pattern: Pattern): number {
  switch (pattern.type) {
    case "one":
    case "start":
    case "end":
    case "boundary":
    case "noBoundary":
      return 0;
    case "sequence":
      return pattern.parts.reduce((sum, part) => sum + openParts(part), 0);
    case "repeat": {
      const { part, min, max } = pattern;
      const open = openParts(part);
      if (min === max) return open === 0 ? 0 : Number.POSITIVE_INFINITY;
      return part.type === "one" ? 1 : Number.POSITIVE_INFINITY;
    }
    default:
      return Number.POSITIVE_INFINITY;
  }
}

interface Listeners {
  readonly onAccept: (at: number) => boolean;
  /** Called at each place that is reached by some state. */
  readonly onPlace?: (at: number) => void;
}

class Machine {
  readonly #states: State[] = [];
  readonly #count: StateCount;
  readonly #looks: Map<Pattern, Look>;
  readonly #backwards: boolean;
  readonly #start: number;
  /** Whether the machine can match at the start of a text only. */
  readonly #anchored: boolean;

  constructor(pattern: Pattern, backwards: boolean, looks: Map<Pattern, Look>, count: StateCount) {
    this.#count = count;
    this.#looks = looks;
    this.#backwards = backwards;
    this.#anchored = pattern.type === "sequence" && pattern.parts[0]?.type === "start";
    this.#start = this.#build(pattern, this.#add({ type: "accept", next: -1, other: -1 }));
  }

  isFound(text: Text, steps: Steps): boolean {
    return this.#run(text, 1, steps, { onAccept: () => true });
  }

  reach(text: Text, steps: Steps): number {
    let reached = 0;
    this.#run(text, 1, steps, {
      onAccept: () => false,
      onPlace: (at) => {
        reached = at;
      },
    });
    return reached;
  }

  /** Marks the places of a text where a match ends, for a machine that runs in the given direction. */
  placesOf(text: Text, direction: 1 | -1, steps: Steps): Uint8Array {
    const places = new Uint8Array(text.points.length + 1);
    this.#run(text, direction, steps, {
      onAccept: (at) => {
        places[at] = 1;
        return false;
      },
    });
    return places;
  }

  /** Runs all states at once over the text, with a new start at each place. Ends when `onAccept` returns true. */
  #run(text: Text, direction: 1 | -1, steps: Steps, { onAccept, onPlace }: Listeners): boolean {
    const { points } = text;
    const states = this.#states;
    steps.spend(states.length / STATES_A_STEP);
    const seenAt = new Int32Array(states.length).fill(-1);
    let current: number[] = [];
    let next: number[] = [];
    const open: number[] = [];
    for (let done = 0; done <= points.length; done += 1) {
      const at = direction === 1 ? done : points.length - done;
      if (done === 0 || !this.#anchored || direction === -1) current.push(this.#start);
      if (current.length === 0) return false;
      onPlace?.(at);
      let accepted = false;
      let visited = 1;
      const point = direction === 1 ? points[at] : points[at - 1];
      for (const from of current) {
        open.push(from);
        while (open.length > 0) {
          const index = open.pop() ?? 0;
          if (seenAt[index] === done) continue;
          seenAt[index] = done;
          visited += 1;
          const state = states[index] as State;
          if (state.type === "one") {
            if (point !== undefined && state.matches?.(point)) next.push(state.next);
          } else if (state.type === "fork") open.push(state.other, state.next);
          else if (state.type === "accept") accepted = true;
          else if (state.holds?.(text, at)) open.push(state.next);
        }
      }
      steps.spend(visited);
      if (accepted && onAccept(at)) return true;
      current.length = 0;
      [current, next] = [next, current];
    }
    return false;
  }

  /** Adds the states of a pattern that continues at `next`, and returns its first state. */
  #build(pattern: Pattern, next: number): number {
    switch (pattern.type) {
      case "one":
        return this.#add({ type: "one", matches: pattern.matches, next, other: -1 });
      case "sequence":
        return (this.#backwards ? pattern.parts : pattern.parts.toReversed()).reduce(
          (following, part) => this.#build(part, following),
          next,
        );
      case "choice":
        return pattern.parts
          .map((part) => this.#build(part, next))
          .reduce((other, first) => this.#add({ type: "fork", next: first, other }));
      case "repeat":
        return this.#buildRepeat(pattern, next);
      case "look":
        return this.#buildLook(pattern, next);
      default:
        return this.#add({ type: "assert", holds: ASSERTIONS[pattern.type], next, other: -1 });
    }
  }

  #buildRepeat({ part, min, max }: Extract<Pattern, { type: "repeat" }>, next: number): number {
    let first = next;
    if (max === Number.POSITIVE_INFINITY) {
      const fork = this.#add({ type: "fork", next: -1, other: next });
      (this.#states[fork] as State).next = this.#build(part, fork);
      first = fork;
    } else {
      // An optional repetition may be skipped together with all later repetitions.
      for (let further = min; further < max; further += 1)
        first = this.#add({ type: "fork", next: this.#build(part, first), other: next });
    }
    for (let further = 0; further < min; further += 1) {
      first = this.#build(part, first);
      // Bounds the repetitions of a part without a state, which would cost nothing otherwise.
      this.#countState();
    }
    return first;
  }

  #buildLook(pattern: Extract<Pattern, { type: "look" }>, next: number): number {
    const { part, behind, negative } = pattern;
    // A look-ahead is read backwards, so that its machine ends where the match begins.
    if (!this.#looks.has(pattern)) {
      const machine = new Machine(part, !behind, this.#looks, this.#count);
      this.#looks.set(pattern, { machine, behind });
    }
    const holds = ({ looks }: Text, at: number) => (looks.get(pattern)?.[at] === 1) !== negative;
    return this.#add({ type: "assert", holds, next, other: -1 });
  }

  #add(state: State): number {
    this.#countState();
    return this.#states.push(state) - 1;
  }

  #countState(): void {
    this.#count.states += 1;
    if (this.#count.states > this.#count.max)
      throw new PatternRefused(
        this.#count.max === MAX_STATES
          ? `repeats so often that it has more than ${MAX_STATES} states`
          : "has, together with the patterns before it, more states than one schema may have",
      );
  }
}

const ASSERTIONS = {
  start: (_: Text, at: number) => at === 0,
  end: ({ points }: Text, at: number) => at === points.length,
  boundary: ({ points }: Text, at: number) => isWord(points[at - 1]) !== isWord(points[at]),
  noBoundary: ({ points }: Text, at: number) => isWord(points[at - 1]) === isWord(points[at]),
} as const;

function isWord(point: number | undefined): boolean {
  return (
    point !== undefined &&
    ((point >= 48 && point <= 57) || (point >= 65 && point <= 90) || point === 95 || (point >= 97 && point <= 122))
  );
}

function codePointsOf(text: string): Uint32Array {
  const points = new Uint32Array(text.length);
  let count = 0;
  for (let at = 0; at < text.length; count += 1) {
    const point = text.codePointAt(at) ?? 0;
    points[count] = point;
    at += point > 0xffff ? 2 : 1;
  }
  return points.subarray(0, count);
}
