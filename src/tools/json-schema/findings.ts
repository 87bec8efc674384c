import { jsonHead } from "./json-head.ts";
import type { BoundWord, SchemaNode } from "./compile-schema.ts";

/** One fault. `path` is relative to the value being checked. */
export interface SchemaProblem {
  readonly message: () => string;
  readonly path: Path | undefined;
  /** Faults of the alternatives if none fits. */
  readonly alternatives?: readonly SchemaFailure[];
}

export interface Path {
  readonly key: string | number;
  readonly rest: Path | undefined;
}

/** Faults of a value: the first choice without a fitting alternative, and the last fault found, which is the innermost. */
export interface SchemaFailure {
  readonly choice: SchemaProblem | undefined;
  readonly last: SchemaProblem;
}

/** Outcome of checking a value: its failure, or the fields and elements that were evaluated, for `unevaluated…`. */
export interface CheckOutcome {
  readonly failure: SchemaFailure | undefined;
  readonly seen: ReadonlySet<string | number> | undefined;
}

export const FITS: CheckOutcome = { failure: undefined, seen: undefined };

/** Collects the findings of one schema part about a value. */
export class Findings {
  readonly #readsSeen: boolean;
  #choice: SchemaProblem | undefined;
  #last: SchemaProblem | undefined;
  #seen: Set<string | number> | undefined;

  constructor(readsSeen: boolean) {
    this.#readsSeen = readsSeen;
  }

  get outcome(): CheckOutcome {
    if (this.#last === undefined && this.#seen === undefined) return FITS;
    return { failure: this.#last && { choice: this.#choice, last: this.#last }, seen: this.#seen };
  }

  add(message: () => string): void {
    this.#join({ choice: undefined, last: { message, path: undefined } });
  }

  /** Adds that there are too few or too many of something. */
  addCount(node: SchemaNode, words: readonly BoundWord[], count: number, what: string): void {
    for (const word of words) {
      const { [word]: bound } = node;
      const isLeast = word.startsWith("min");
      if (bound !== undefined && (isLeast ? count < bound : count > bound))
        this.add(() => `expected at ${isLeast ? "least" : "most"} ${bound} ${what}`);
    }
  }

  /** Adds that too few or too many alternatives fit, with the faults of those that do not. */
  addChoice(fitting: number, outcomes: readonly CheckOutcome[]): void {
    const alternatives = outcomes.flatMap(({ failure }) => (failure ? [failure] : []));
    const message =
      fitting === 0
        ? `it fits none of the ${outcomes.length} alternatives`
        : `it fits ${fitting} of the ${outcomes.length} alternatives, and has to fit one alone`;
    const own = { message: () => message, path: undefined, ...(fitting === 0 && { alternatives }) };
    this.#join({ choice: own, last: own });
    for (const failure of alternatives) this.#join(failure);
  }

  addAll(outcomes: readonly CheckOutcome[]): void {
    this.add(() => "it does not fit all parts of its schema");
    for (const { failure } of outcomes) if (failure) this.#join(failure);
  }

  /** Takes over the outcome of another schema part for the same value. */
  take({ failure, seen }: CheckOutcome, message: () => string): void {
    if (!failure) return this.see(seen);
    this.add(message);
    this.#join(failure);
  }

  /** Takes over the outcome of a field or an element. Returns whether it failed. */
  takeAt(key: string | number, { failure }: CheckOutcome, message: () => string, isName = false): boolean {
    if (this.#readsSeen && !isName) this.see([key]);
    if (!failure) return false;
    this.add(message);
    this.#join(within(key, failure));
    return true;
  }

  see(keys: Iterable<string | number> | undefined): void {
    if (keys === undefined || !this.#readsSeen) return;
    this.#seen ??= new Set();
    for (const key of keys) this.#seen.add(key);
  }

  hasSeen(key: string | number): boolean {
    return this.#seen?.has(key) ?? false;
  }

  #join({ choice, last }: SchemaFailure): void {
    this.#choice ??= choice;
    this.#last = last;
  }
}

export function alone(text: string): SchemaFailure {
  return { choice: undefined, last: { message: () => text, path: undefined } };
}

function within(key: string | number, { choice, last }: SchemaFailure): SchemaFailure {
  const put = (problem: SchemaProblem): SchemaProblem => ({ ...problem, path: { key, rest: problem.path } });
  return { choice: choice && put(choice), last: put(last) };
}

/** Maximum length of a name or a value of a schema in a message, in characters. */
const SHOWN_LENGTH = 100;

export function shownValue(value: unknown): string {
  const text = jsonHead(value, SHOWN_LENGTH) ?? "nothing";
  return text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH)}…` : text;
}
