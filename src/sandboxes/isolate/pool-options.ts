import { oneOf, option, type OptionsOf, type Resolved, wholeNumber, withDefault } from "../../options/options.ts";
import type { ParentDeathCommand } from "./parent-death.ts";

export const ISOLATE_RULES = {
  /** Engines kept ready for the next program; by default two, or one for each core where there are fewer. */
  warm: wholeNumber({ min: 0 }),
  /**
   * Engines at once, idle ones included. Programs beyond that wait. By default 16 for each core, and at most as many as
   * take half of the machine's memory.
   */
  engines: wholeNumber({ min: 1 }),
  /**
   * Programs that may wait at once, those included whose engine is starting; 1,000 by default. One more ends as
   * `stopped`, by `queue`.
   */
  queue: wholeNumber({ min: 1, default: 1000 }),
  /** Whether an engine may serve another program of the same tenant, which it does by default. */
  reuse: withDefault(oneOf(["tenant", "never"]), "tenant"),
  /** Programs an engine serves before it is replaced; 1,000 by default. */
  programsPerEngine: wholeNumber({ min: 1, default: 1000 }),
  /** Memory an engine may have kept above its first program's start, in bytes, to be used again; 64 MiB by default. */
  keptMemoryBytes: wholeNumber({ min: 0, default: 64 * 1024 * 1024 }),
  /** How engines are started; found out by default. */
  command: option<ParentDeathCommand>(
    "how a process is started",
    (value) => typeof value === "object" && value !== null,
  ),
};

export type IsolateSandboxOptions = OptionsOf<typeof ISOLATE_RULES>;

export type PoolOptions = Resolved<typeof ISOLATE_RULES> & { readonly warm: number; readonly engines: number };
