import { checkOptions, defaultsOf, object, type OptionPlace, type Resolved, wholeNumber } from "../options/options.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

/**
 * Every limit of an execution. The sentence of each says what it bounds, and why its default is what it is. Shown in
 * docs/limits-and-endings.md.
 */
export const LIMIT_RULES = {
  /** Memory of the program. Two results of 10 MB, parsed and joined, make the process grow by 120 MiB. */
  memoryBytes: wholeNumber({ min: 16 * MIB, max: 8192 * MIB, default: 128 * MIB }),
  /**
   * Time until there is an engine or a container for the program; its other clocks start after that. A minute is a
   * machine that has too much to do.
   */
  queueMs: wholeNumber({ min: 10, max: 2 ** 31 - 1, default: 60_000 }),
  /**
   * Time the program itself runs, waiting for tools and, where the system tells it, for a processor not counted.
   * Joining 20 MB takes less than half a second; ten seconds is a program gone wrong.
   */
  runningMs: wholeNumber({ min: 10, max: 3_600_000, default: 10_000 }),
  /**
   * Time from the program's first step to its end, everything counted. Many clients of agents give up after two
   * minutes.
   */
  wallMs: wholeNumber({ min: 10, max: 2 ** 31 - 1, default: 120_000 }),
  /** Calls of tools, and programs of a conversation. The largest of our examples makes 1,230. */
  calls: wholeNumber({ min: 0, max: 1_000_000, default: 10_000 }),
  /**
   * Calls that run at once, or wait for room at their tool (`concurrency`); more wait their turn. Enough to hide
   * latency, few enough for an ordinary API.
   */
  callsAtOnce: wholeNumber({ min: 1, max: 10_000, default: 64 }),
  /** Input of one call, which may hold 40,000 values. It is parsed and checked on the host's own thread. */
  inputBytes: wholeNumber({ min: 2, max: 16 * MIB, default: MIB }),
  /** Result of one call, as JSON. A larger one is refused before all of it is text. */
  resultBytes: wholeNumber({ min: 2, max: 256 * MIB, default: 32 * MIB }),
  /** Inputs and results of all calls. The journal keeps them in the host's memory until the execution has ended. */
  totalBytes: wholeNumber({ min: 2, max: 4096 * MIB, default: 48 * MIB }),
  /** The returned value as it goes to the model: about 5,000 tokens. A larger one goes as its shape and first rows. */
  outputBytes: wholeNumber({ min: 64, max: 16 * MIB, default: 16 * KIB }),
  /** Printed text, as UTF-8, that is kept from the start, and again as much from the end. */
  logBytes: wholeNumber({ min: 256, max: MIB, default: 8 * KIB }),
  /** Largest message a program may send, its returned value included. It stands whole in the host's memory. */
  frameBytes: wholeNumber({ min: 64 * KIB, max: 64 * MIB, default: 4 * MIB }),
};

/** Limits of an execution: whole numbers, in the unit that the name ends with. */
export type Limits = Resolved<typeof LIMIT_RULES>;

export const DEFAULT_LIMITS: Limits = defaultsOf(LIMIT_RULES);

/** The option `limits` of what starts an execution, which `resolveLimits` reads. */
export const LIMITS_OPTION = object<Partial<Limits>>();

/**
 * Limits with some of them changed. `place` is where the changes were written. Throws `option_invalid`, naming the
 * limit, for an unknown name or a number out of range.
 */
export function resolveLimits(base: Limits, changes: Partial<Limits> | undefined, place: OptionPlace): Limits {
  return changes === undefined ? base : Object.freeze({ ...base, ...checkOptions(place, changes, LIMIT_RULES) });
}
