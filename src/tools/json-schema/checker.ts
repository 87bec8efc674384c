import type { SchemaNode } from "./compile-schema.ts";
import type { Outcome } from "./findings.ts";
import type { Identities } from "./identities.ts";
import type { Steps } from "./steps.ts";

/** One check of a value, as the checks of objects and arrays see it. */
export interface Checker {
  readonly steps: Steps;
  readonly identities: Identities;
  /** Checks a value, or a part of it, against a node. */
  check(node: SchemaNode, value: unknown): Outcome;
  /** Counts a step for each evaluated field and element before they are read. */
  seen(outcome: Outcome): Outcome;
}
