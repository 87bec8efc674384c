import type { Language } from "../../../bridge/frames.ts";
import type { SandboxLimits } from "../sandbox.ts";

const MIB = 1024 * 1024;

/** What a container may take, in the daemon's terms. */
export interface ContainerLimits {
  /** Of a program: what its guest is told, where its language has a heap limit of its own. */
  readonly heapBytes: number;
  /** Of the container: every kind, its temporary files included. There is no swap beside it. */
  readonly memoryBytes: number;
  /** Processes and threads. */
  readonly processes: number;
  readonly cpus: number;
  readonly openFiles: number;
  readonly scratchBytes: number;
  /** Files, folders and links in the scratch space: without a bound, empty ones take all memory. */
  readonly scratchFiles: number;
}

/** What an operator may change of that. */
export type ContainerAllowance = Pick<ContainerLimits, "cpus" | "scratchBytes">;

export const USUAL_ALLOWANCE: ContainerAllowance = { cpus: 1, scratchBytes: 16 * MIB };

/**
 * Memory of a container beyond its program's. Node takes 50 MiB before a program does anything, and V8 as much as it
 * does elsewhere (`MEMORY_SLACK_BYTES`) for garbage and for values on their way; python takes 15.
 */
const OVERHEAD_BYTES: Record<Language, number> = { javascript: 128 * MIB, python: 32 * MIB };
/** What the forwarder may take, a node of its own: of memory 22 MiB when it idles; processes and threads, of which it has four. */
const FORWARDER_BYTES = 64 * MIB;
const FORWARDER_PROCESSES = 8;
/** Node has a dozen threads. The rest is for programs that may start processes of their own. */
const PROCESSES = 64;
const OPEN_FILES = 256;
const SCRATCH_BYTES_PER_FILE = 16 * 1024;

/** Limits of an execution as limits of a container: the one place where the two meet. */
export function containerLimits(
  { memoryBytes }: SandboxLimits,
  language: Language,
  { cpus, scratchBytes }: ContainerAllowance = USUAL_ALLOWANCE,
  egress = false,
): ContainerLimits {
  return {
    heapBytes: memoryBytes,
    memoryBytes: memoryBytes + OVERHEAD_BYTES[language] + (egress ? FORWARDER_BYTES : 0),
    processes: PROCESSES + (egress ? FORWARDER_PROCESSES : 0),
    cpus,
    openFiles: OPEN_FILES,
    scratchBytes,
    scratchFiles: Math.max(16, Math.floor(scratchBytes / SCRATCH_BYTES_PER_FILE)),
  };
}
