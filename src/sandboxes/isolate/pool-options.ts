import {
  isAnyObject,
  oneOf,
  option,
  type OptionsOf,
  type CheckedOptions,
  wholeNumber,
  withDefault,
} from "../../base/index.ts";
import type { EngineCommand } from "./engine-command.ts";

export const ISOLATE_RULES = {
  /** Engines kept ready for the next program; by default two, or one on a machine with a single core. A runtime waits for the first; the others start a second later. */
  warm: wholeNumber({ min: 0 }),
  /**
   * Engines at once, idle ones included; only as many are started as the programs need. Further programs wait. By
   * default 16 for each core, but no more than fit into half of the machine's memory. One of 16 is for tenants that have none.
   */
  engines: wholeNumber({ min: 1 }),
  /** Engines that one tenant's programs may have at once; any number by default. Further programs of that tenant wait. */
  perTenant: wholeNumber({ min: 1 }),
  /**
   * Programs that may wait at once, including those whose engine is starting; 1,000 by default. A further program ends
   * as `stopped`, by `queue`.
   */
  queue: wholeNumber({ min: 1, default: 1000 }),
  /**
   * Whether a program that waits gives up its engine if another program needs one (`needed`, the default) or keeps it
   * (`never`). It is replayed in another engine when it has something to do.
   */
  evict: withDefault(oneOf(["needed", "never"]), "needed"),
  /**
   * Memory of all engines together above which idle engines are ended, and programs that wait give up theirs; by default
   * half of the machine's memory.
   */
  poolBytes: wholeNumber({ min: 0 }),
  /** Whether an engine may run further programs of the same tenant (`tenant`, the default) or not (`never`). */
  reuseEngines: withDefault(oneOf(["tenant", "never"]), "tenant"),
  /**
   * Memory that an engine may keep after a program and still be reused, in bytes above its memory before the first
   * program; 64 MiB by default.
   */
  keptMemoryBytes: wholeNumber({ min: 0, default: 64 * 1024 * 1024 }),
  /** How engines are started; detected by default. */
  command: option<EngineCommand>("how a process is started", isAnyObject),
};

export type IsolateSandboxOptions = OptionsOf<typeof ISOLATE_RULES>;

export type PoolOptions = CheckedOptions<typeof ISOLATE_RULES> &
  Required<Pick<IsolateSandboxOptions, "warm" | "engines" | "poolBytes">>;
