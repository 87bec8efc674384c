import {
  checkOptions,
  defaultsOf,
  fieldsOf,
  object,
  type OptionPlace,
  PortcullisError,
  type CheckedOptions,
  thrownMessage,
  wholeNumber,
} from "../base/index.ts";
import type { Journal } from "../journal/journal.ts";
import type { Header } from "../journal/record.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

/**
 * The limits of an execution. Each comment says what the limit bounds and why it has its default. The comments are
 * shown in docs/options.md.
 */
export const LIMIT_RULES = {
  /** Memory of the program. Parsing and joining two results of 10 MB makes the process grow by 120 MiB. */
  memoryBytes: wholeNumber({ min: 16 * MIB, max: 8192 * MIB, default: 128 * MIB }),
  /**
   * Time to wait for an engine or a container. The program's other clocks stand still meanwhile. A wait of a minute means
   * that the machine is overloaded.
   */
  queueMs: wholeNumber({ min: 10, max: 2 ** 31 - 1, default: 60_000 }),
  /**
   * Time the program itself runs, without waiting for tools, nor for a processor if the system reports it. Joining 20 MB
   * takes less than half a second; after ten seconds a program is most likely in an endless loop.
   */
  cpuMs: wholeNumber({ min: 10, max: 3_600_000, default: 10_000 }),
  /**
   * Time from the program's start to its end, including all waiting except for approvals alone and for an engine. Many
   * clients of agents time out after two minutes.
   */
  wallMs: wholeNumber({ min: 10, max: 2 ** 31 - 1, default: 120_000 }),
  /**
   * Time that a call may wait for a decision or for a client's result, from when it is held, even if no process waits
   * with it. People take as long as they take, so there is no bound by default.
   */
  waitMs: wholeNumber({ min: 10, max: 31_536_000_000 }),
  /**
   * Calls of tools; in a conversation each program counts as one more, which `usage.calls` does not. The largest of our
   * examples makes 1,230.
   */
  calls: wholeNumber({ min: 0, max: 1_000_000, default: 10_000 }),
  /**
   * Calls that run or wait for their tool's `concurrency` or `rate` at the same time; further calls are queued. Enough to hide
   * latency, few enough for an ordinary API.
   */
  concurrentCalls: wholeNumber({ min: 1, max: 10_000, default: 64 }),
  /** Result of one call, as JSON. A larger result is refused before it is serialised in full. */
  resultBytes: wholeNumber({ min: 2, max: 256 * MIB, default: 32 * MIB }),
  /**
   * Inputs and results of all calls. A journal in memory keeps them until the execution has ended; with a durable
   * journal, which takes them off the host's memory, the default is 1 GiB.
   */
  totalBytes: wholeNumber({ min: 2, max: 4096 * MIB, default: 48 * MIB }),
  /**
   * Items of one stream, as JSON, in all. They pass through: two batches at most wait for the program, and a durable journal
   * holds all of them.
   */
  streamBytes: wholeNumber({ min: 2, max: 1024 * 1024 * MIB, default: 1024 * MIB }),
  /**
   * Names under which a conversation, or a program that belongs to none, keeps values. A model has to keep them apart,
   * and reads some of them with each error about an unknown name.
   */
  artifacts: wholeNumber({ min: 0, max: 10_000, default: 100 }),
  /** The returned value as sent to the model: about 5,000 tokens. Of a larger value the shape and the first rows are sent. */
  outputBytes: wholeNumber({ min: 64, max: 16 * MIB, default: 16 * KIB }),
};

type OwnLimits = CheckedOptions<typeof LIMIT_RULES>;

/** Limits of an execution: whole numbers, in the unit at the end of the name. */
export type Limits = OwnLimits & ReturnType<typeof derivedLimits>;

/** What follows from the limits. Where less than with the default limits would help nobody, it is no less. */
function derivedLimits({ resultBytes, outputBytes, concurrentCalls }: OwnLimits) {
  const inputBytes = Math.max(MIB, Math.floor(resultBytes / 32));
  return {
    /** Input of one call. It is parsed and validated on the host's thread. */
    inputBytes,
    /**
     * Values in the input of one call: fields, elements, and the objects and lists that hold them. A schema may report a
     * fault for each, at a microsecond of the host's thread.
     */
    inputValues: 40_000 * Math.floor(inputBytes / MIB),
    /**
     * Values in the result of one call, which are what serialising it costs the host and what parsing it costs the program.
     * They are counted before it is serialised. Rows of JSON of 32 MiB have about 3 million.
     */
    resultValues: Math.max(4 * MIB, Math.floor(resultBytes / 8)),
    /** Streams that are open at once. Two are read side by side in a merge. */
    streams: Math.min(Math.max(2, concurrentCalls), 1000),
    /**
     * Images, files and links of one result for a model that calls a tool directly, as base64. Providers take some 5 MB an
     * image.
     */
    partBytes: Math.max(MIB, Math.floor(resultBytes / 4)),
    /** One value that is kept by `save`, or because it is too large for a model, as JSON. What a program saves also has to fit into a frame. */
    artifactBytes: Math.max(MIB, resultBytes),
    /** Printed text, as UTF-8, that is shown from the start; the same amount is shown from the end. */
    logBytes: Math.min(Math.max(256, Math.floor(outputBytes / 2)), MIB),
    /**
     * Printed text, as UTF-8, that is kept. If more is printed than is shown, a later program finds what is kept as the
     * artifact `printed`.
     */
    printedBytes: Math.min(Math.max(MIB, 64 * outputBytes), 8 * MIB),
    /** Largest frame a program may send: a value that it returns or saves, or an input. The host holds it in memory as a whole. */
    frameBytes: Math.max(8 * MIB, Math.floor(resultBytes / 4)),
  };
}

const withDerived = (own: OwnLimits): Limits => Object.freeze({ ...own, ...derivedLimits(own) });

export const DEFAULT_LIMITS: Limits = withDerived(defaultsOf(LIMIT_RULES));

/** The limits that bound what an execution takes of the machine. The others say what its program sees, which no later driver changes. */
const MACHINE_LIMITS = [
  "memoryBytes",
  "queueMs",
  "cpuMs",
  "wallMs",
  "calls",
  "concurrentCalls",
  "totalBytes",
] as const satisfies readonly (keyof Limits)[];

/** The limits of an execution, as a driver has them that allows less. */
export function narrowedLimits(began: Limits, ...allowed: readonly (LimitChanges | undefined)[]): Limits {
  const least = MACHINE_LIMITS.map((name) => [
    name,
    Math.min(began[name], ...allowed.map((one) => one?.[name] ?? Infinity)),
  ]);
  return Object.freeze({ ...began, ...Object.fromEntries(least) });
}

/** Bytes that an execution with a durable journal may hold in memory, unless a larger result has to be held. */
const HELD_BYTES = LIMIT_RULES.totalBytes.default;
/** Bytes of answers that may be held beside the largest result. */
const BESIDE_RESULT_BYTES = 16 * MIB;

/** The default limits of a runtime with this journal. */
export function defaultLimitsFor({ isDurable = false }: Pick<Journal, "isDurable">): Limits {
  return isDurable ? withDerived({ ...DEFAULT_LIMITS, totalBytes: 1024 * MIB }) : DEFAULT_LIMITS;
}

/** What an execution may hold in memory: what its calls move (if the journal is durable, open calls) and one frame. */
export function heldAllowance({ totalBytes, resultBytes, frameBytes }: Limits, isDurable: boolean): number {
  const open = isDurable ? Math.max(HELD_BYTES, resultBytes + BESIDE_RESULT_BYTES) : totalBytes;
  return Math.min(totalBytes, open) + frameBytes;
}

/** Changes to limits. A limit that is `undefined` counts as left out. */
export type LimitChanges = { readonly [Name in keyof OwnLimits]?: OwnLimits[Name] | undefined };

/** The option `limits`, which `resolveLimits` checks. */
export const LIMITS_OPTION = object<LimitChanges>();

/**
 * The limits that an execution began with. What follows from them is computed anew, whatever the header says. Throws
 * `journal_invalid` for a limit that is unknown or out of range.
 */
export function limitsOf({ execution, limits }: Pick<Header, "execution" | "limits">): Limits {
  const own = Object.entries(limits).filter(([name]) => Object.hasOwn(LIMIT_RULES, name) || !(name in DEFAULT_LIMITS));
  try {
    return resolveLimits(DEFAULT_LIMITS, Object.fromEntries(own), fieldsOf("header.limits"));
  } catch (error) {
    throw new PortcullisError(
      "journal_invalid",
      `Execution ${JSON.stringify(execution)}, record 0: ${thrownMessage(error)}`,
      { cause: error },
    );
  }
}

/**
 * Applies changes to limits. `place` is how errors name the option with the changes. Throws `option_invalid` with the
 * limit's name for an unknown name or a number out of range.
 */
export function resolveLimits(base: Limits, changes: LimitChanges | undefined, place: OptionPlace): Limits {
  return changes === undefined ? base : withDerived({ ...base, ...checkOptions(place, changes, LIMIT_RULES) });
}
