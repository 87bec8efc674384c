import type { Language } from "../../bridge/frames.ts";
import type { EgressRecord } from "../journal/record.ts";
import type { RefusedFrame } from "../../bridge/wire.ts";
import { PortcullisError } from "../base/index.ts";
import type { Closing } from "./closing.ts";

/**
 * An isolation technology that guests run in. It handles bytes, limits and processes, and does not depend on tools,
 * programs or models. Disposing it ends every guest and every process that it started.
 */
export interface Sandbox extends AsyncDisposable {
  readonly name: string;
  readonly languages: readonly Language[];
  /**
   * Opens a new guest, whose `ready` frame is still unread. Rejects with a `PortcullisError` (`sandbox_unavailable`)
   * if this machine cannot run one, with a `QueueFull` if too many programs wait already, and with the signal's reason
   * once the signal is aborted.
   */
  open(options: OpenOptions, signal: AbortSignal): Promise<Guest>;
  /** Its load, for metrics; undefined before its first guest. Optional. */
  readonly load?: SandboxLoad | undefined;
  /** What this machine lacks for a promise of the sandbox, in sentences for the operator's log; complete once `warm` has resolved. Optional. */
  readonly remark?: string | undefined;
  /** Starts guests ahead of the first program. Optional, and may be called more than once. */
  warm?(): Promise<void>;
  /** Checks this machine for what the sandbox needs, for an operator. Never rejects. */
  diagnose?(): Promise<readonly Finding[]>;
}

/** Throws `sandbox_unavailable` if the sandbox does not run programs in this language. */
export function checkLanguage(name: string, languages: readonly Language[], language: Language): void {
  if (languages.includes(language)) return;
  const sentence = `The ${name} sandbox runs ${languages.join(" and ")}, not ${language}.`;
  throw new PortcullisError("sandbox_unavailable", sentence);
}

/** How many guests a sandbox has, and how many programs wait for one. */
export interface SandboxLoad {
  /** The same object for all sandboxes that share their guests. */
  readonly pool: object;
  /** Processes or containers, idle ones included. */
  readonly guests: number;
  readonly idle: number;
  readonly waiting: number;
}

/** The state of one thing that a sandbox needs on a machine. */
export interface Finding {
  /** Name of one or two words. */
  readonly what: string;
  /** `weak`: programs run, but a promise holds only in part. `missing`: programs cannot run. */
  readonly state: "good" | "weak" | "missing";
  readonly detail: string;
}

/** The queue of programs that wait for a guest is full. */
export class QueueFull extends PortcullisError {
  /** How many programs may wait at once. */
  readonly allowed: number;

  constructor(allowed: number) {
    super(
      "queue_full",
      `The queue is full: ${allowed} programs already wait for an engine or a container. Try again later, or raise the sandbox's options engines, containers or queue.`,
    );
    this.allowed = allowed;
  }
}

export interface OpenOptions {
  readonly language: Language;
  readonly limits: SandboxLimits;
  /** Guests of two tenants never share a process. */
  readonly tenant: string;
  /**
   * Whether the program has begun already, and lost its guest. It is not rejected with a `QueueFull`. After a few
   * seconds it is served before programs of its tenant that have not begun.
   */
  readonly hasBegun?: boolean;
  /** Called for each of the guest's connections to outside hosts, after the connection has ended and before the guest's exit. */
  readonly onConnection?: (connection: Connection) => void;
}

/** The limits that the sandbox itself enforces. */
export interface SandboxLimits {
  /** Memory that the program may use, of every kind. */
  readonly memoryBytes: number;
  /** Largest frame that the guest may send. */
  readonly frameBytes: number;
}

/**
 * One guest, which receives and sends frames until it ends. The owner reads `frames` to the end and calls either
 * `release` or `kill`; disposing kills a guest that was not released.
 */
export interface Guest extends AsyncDisposable {
  /**
   * Sends frames to the guest. Does nothing after the exit. Never waits for the guest to read. A large frame may be given in
   * pieces, which need not be joined in memory: that would be a copy of it.
   */
  send(frames: readonly (string | readonly string[])[]): void;
  /** How many of the frames are not on their way yet, because the guest does not read; by default none. */
  readonly unsent?: number;
  /** The guest's frames, in batches as they arrive. Ends with the guest. Can be iterated once. */
  readonly frames: AsyncIterable<readonly string[]>;
  /** Resolves with how the guest ended; never rejects. */
  readonly exit: Promise<Exit>;
  usage(): ResourceUsage;
  /**
   * Tells the sandbox that the program waits and has received all events: until the next `send` it may end the guest as
   * `evicted`, if it needs its place. A sandbox without this method evicts no guest.
   */
  offer?(offer: Offer): void;
  /** Ends the guest now, even a busy one. Only the first reason given is kept. */
  kill(reason: KillReason): void;
  /** Ends the guest after its program has settled with nothing pending, so that the sandbox may reuse its resources. */
  release(): void;
}

/** A guest, or the engine of guests, that ends once, as its sandbox says. */
export abstract class EndingGuest {
  protected readonly exited = Promise.withResolvers<Exit>();
  readonly exit = this.exited.promise;

  protected abstract end(exit: Exit): void;

  kill(reason: KillReason): void {
    this.end({ type: "killed", reason });
  }

  release(): void {
    this.end({ type: "released" });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.kill("disposed");
    await this.exit;
  }
}

/**
 * For how much longer the program has to wait before its guest may be evicted, in milliseconds. Negative if it has waited for
 * longer than that already.
 */
export interface Offer {
  /** For another program of its tenant. Infinite if its replay takes too much. */
  readonly ownMs: number;
  /** For a program of another tenant. */
  readonly othersMs: number;
  /** For a guest that the sandbox knows to have state which no replay restores, like connections: its eviction ends the program. */
  readonly lostMs: number;
}

/** Why the owner ends a guest, as free text; repeated in the exit. */
export type KillReason = string;

export type Exit =
  /** Released by its owner. */
  | { readonly type: "released" }
  /**
   * Ended by the sandbox while the program waited, after an `offer`. When the program has something to do, another
   * guest may go on with it. `closing` tells when the sandbox is closed.
   */
  | { readonly type: "evicted"; readonly closing: Closing }
  /** Ended by its owner. */
  | { readonly type: "killed"; readonly reason: KillReason }
  /** Used more memory than allowed. `seenBytes` is the last reading before it was ended. */
  | { readonly type: "memory"; readonly seenBytes: number }
  /** Sent bytes that are not frames, or a frame larger than `frameBytes`. */
  | { readonly type: "broken"; readonly detail: string }
  /** Ended by itself. `detail` gives the cause to the operator. */
  | { readonly type: "died"; readonly detail: string };

/** What V8 and isolated-vm print before they abort for lack of memory, and `run-javascript.js` if only the isolate has ended. */
export const MEMORY_ABORT = /is_heap_oom = 1|out of memory|invalid size error|allocation fail|heap limit/i;

/** The exit of a guest whose process or container ended by itself. `printed` is the end of its standard error. */
export function exitOfDeath(how: string, printed: string): Exit {
  const lastWords = printed.trim().slice(-500);
  return { type: "died", detail: `${how}${lastWords === "" ? "" : `: ${lastWords}`}` };
}

/** The exit of a guest that sent a frame which its reader refused. */
export function endOfRefused(frame: RefusedFrame): Exit {
  if (frame === "no text") return { type: "broken", detail: "a frame that is not UTF-8" };
  return { type: "broken", detail: `a frame of ${frame.bytes} bytes, at most ${frame.allowed} are allowed` };
}

export interface ResourceUsage {
  /** Highest memory reading, in bytes above an idle guest's memory; 0 if it is not read. */
  readonly peakMemoryBytes: number;
  /**
   * A counter of the guest's processor time, in milliseconds. Only the difference between two readings has a meaning.
   * It never falls, and is at most half a second old. Undefined if the system does not report it.
   */
  readonly processorMs: number | undefined;
}

/**
 * Usage whose processor time is read when it is asked for. A host asks for the memory at every turn, but for the processor
 * time, for which files of the system are read, only at intervals.
 */
export function usageOf(peakMemoryBytes: number, readProcessorMs: () => number | undefined): ResourceUsage {
  return {
    peakMemoryBytes,
    get processorMs() {
      return readProcessorMs();
    },
  };
}

/** A connection, or an attempt at one, from a guest to an outside host, in a sandbox that has egress. */
export type Connection = Omit<EgressRecord, "type" | "at">;
