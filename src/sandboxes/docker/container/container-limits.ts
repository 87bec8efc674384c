import type { Language } from "../../../../bridge/frames.ts";
import type { SandboxLimits } from "../../sandbox.ts";

const MIB = 1024 * 1024;

export const USUAL_ALLOWANCE = { cpus: 1, scratchBytes: 16 * MIB };

/**
 * Memory of a container beyond its program's. Node takes 50 MiB before a program starts, and V8 needs slack for garbage
 * and for values that are sent or received (compare `MEMORY_SLACK_BYTES`). Python takes 15 MiB.
 */
const OVERHEAD_BYTES: Record<Language, number> = { javascript: 128 * MIB, python: 32 * MIB };
/** What the egress forwarder, a second node process, adds. When idle it uses 22 MiB and four threads. */
const FORWARDER_BYTES = 64 * MIB;
const FORWARDER_PROCESSES = 8;
/** Node has about twelve threads. The rest is for processes that a program starts. */
const PROCESSES = 64;
const OPEN_FILES = 256;
const SCRATCH_BYTES_PER_FILE = 16 * 1024;

export type ContainerLimits = Readonly<ReturnType<typeof containerLimits>>;

/** Maps the limits of an execution to those of a container, as the daemon takes them. No other code does. */
export function containerLimits(
  { memoryBytes }: SandboxLimits,
  language: Language,
  { cpus, scratchBytes }: Readonly<typeof USUAL_ALLOWANCE> = USUAL_ALLOWANCE,
  egress = false,
) {
  return {
    /** Heap limit of the program, which its guest enforces if the language has one. */
    heapBytes: memoryBytes,
    /** Memory of the container, of every kind, temporary files included. It gets no swap. */
    memoryBytes: memoryBytes + OVERHEAD_BYTES[language] + (egress ? FORWARDER_BYTES : 0),
    processes: PROCESSES + (egress ? FORWARDER_PROCESSES : 0),
    cpus,
    openFiles: OPEN_FILES,
    scratchBytes,
    /** Files, folders and links in the scratch space. Without a limit, empty ones could take all memory. */
    scratchFiles: Math.max(16, Math.floor(scratchBytes / SCRATCH_BYTES_PER_FILE)),
  };
}
