import { optionError, PortcullisError } from "../errors.ts";
import { nearest } from "../options/nearest.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

interface LimitRule {
  readonly default: number;
  readonly least: number;
  readonly most: number;
  /** What it bounds, and why the default is what it is. Shown in docs/limits-and-endings.md. */
  readonly reason: string;
}

/** Every limit of an execution. All are whole numbers. */
export const LIMIT_RULES = {
  memoryBytes: {
    default: 128 * MIB,
    least: 16 * MIB,
    most: 8192 * MIB,
    reason: "Memory of the program. Two results of 10 MB, parsed and joined, make the process grow by 120 MiB.",
  },
  queueMs: {
    default: 60_000,
    least: 10,
    most: 2 ** 31 - 1,
    reason:
      "Time until there is an engine or a container for the program; its other clocks start after that. A minute is a machine that has too much to do.",
  },
  runningMs: {
    default: 10_000,
    least: 10,
    most: 3_600_000,
    reason:
      "Time the program itself runs, waiting for tools and, where the system tells it, for a processor not counted. Joining 20 MB takes less than half a second; ten seconds is a program gone wrong.",
  },
  wallMs: {
    default: 120_000,
    least: 10,
    most: 2 ** 31 - 1,
    reason:
      "Time from the program's first step to its end, everything counted. Many clients of agents give up after two minutes.",
  },
  calls: {
    default: 10_000,
    least: 0,
    most: 1_000_000,
    reason: "Calls of tools, and programs of a conversation. The largest of our examples makes 1,230.",
  },
  callsAtOnce: {
    default: 64,
    least: 1,
    most: 10_000,
    reason:
      "Calls that run at once, or wait for room at their tool (`concurrency`); more wait their turn. Enough to hide latency, few enough for an ordinary API.",
  },
  inputBytes: {
    default: MIB,
    least: 2,
    most: 16 * MIB,
    reason: "Input of one call, which may hold 40,000 values. It is parsed and checked on the host's own thread.",
  },
  resultBytes: {
    default: 32 * MIB,
    least: 2,
    most: 256 * MIB,
    reason: "Result of one call, as JSON. A larger one is refused before all of it is text.",
  },
  totalBytes: {
    default: 48 * MIB,
    least: 2,
    most: 4096 * MIB,
    reason:
      "Inputs and results of all calls. The journal keeps them in the host's memory until the execution has ended.",
  },
  outputBytes: {
    default: 16 * KIB,
    least: 64,
    most: 16 * MIB,
    reason:
      "The returned value as it goes to the model: about 5,000 tokens. A larger one goes as its shape and first rows.",
  },
  logBytes: {
    default: 8 * KIB,
    least: 256,
    most: MIB,
    reason: "Printed text that is kept from the start, and again as much from the end.",
  },
  frameBytes: {
    default: 4 * MIB,
    least: 64 * KIB,
    most: 64 * MIB,
    reason: "Largest message a program may send, its returned value included. It stands whole in the host's memory.",
  },
} as const satisfies Record<string, LimitRule>;

export type Limits = { readonly [Name in keyof typeof LIMIT_RULES]: number };

const NAMES = Object.keys(LIMIT_RULES) as (keyof Limits)[];

export const DEFAULT_LIMITS: Limits = Object.freeze(
  Object.fromEntries(NAMES.map((name) => [name, LIMIT_RULES[name].default])) as unknown as Limits,
);

/** Limits with some of them changed. Throws `option_invalid`, naming the limit, for an unknown name or a number out of range. */
export function resolveLimits(base: Limits, changes: Partial<Limits> | undefined, option = "limits"): Limits {
  if (changes === undefined) return base;
  if (typeof changes !== "object" || changes === null) throw optionError(option, "an object", changes);
  for (const [name, value] of Object.entries(changes)) {
    if (!Object.hasOwn(LIMIT_RULES, name)) throw unknownLimit(option, name);
    const { least, most } = LIMIT_RULES[name as keyof Limits];
    if (!Number.isSafeInteger(value) || value < least || value > most)
      throw optionError(`${option}.${name}`, `a whole number from ${least} to ${most}`, value);
  }
  return Object.freeze({ ...base, ...changes });
}

function unknownLimit(option: string, name: string): PortcullisError {
  const [meant] = nearest(name, NAMES, 1);
  return new PortcullisError(
    "option_invalid",
    `${option}: there is no limit ${JSON.stringify(name)}${meant === undefined ? "." : `, did you mean ${meant}?`} The limits are ${NAMES.join(", ")}.`,
  );
}
