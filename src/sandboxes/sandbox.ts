import type { Language } from "../../bridge/frames.ts";
import type { EgressRecord } from "../journal/record.ts";
import type { OversizeFrame } from "../../bridge/wire.ts";
import { PortcullisError } from "../errors.ts";

/**
 * A kind of wall. It knows bytes, limits and processes; of tools, programs and models it has never heard.
 * Disposing it ends every guest and every process it started.
 */
export interface Sandbox extends AsyncDisposable {
  readonly name: string;
  readonly languages: readonly Language[];
  /**
   * A fresh guest, its `ready` frame still unread. Rejects with a `PortcullisError` (`sandbox_unavailable`)
   * where this machine cannot give one, with a `QueueFull` where too many wait for one, and with the signal's reason once
   * that is aborted.
   */
  open(options: OpenOptions, signal: AbortSignal): Promise<Guest>;
  /** Starts what can be started before the first program. It may be called again, and need not be called. */
  warm?(): Promise<void>;
  /** What this machine has of what the sandbox needs, for an operator. Never rejects. */
  diagnose?(): Promise<readonly Finding[]>;
  /** Removes what hosts that are gone have left, and says what: `2 engines ended`. Never rejects. */
  clean?(): Promise<string>;
}

/** One thing that a sandbox needs of a machine. */
export interface Finding {
  /** Its name, of one or two words. */
  readonly what: string;
  /** `weak`: programs run, and a promise holds in part. `missing`: programs cannot run. */
  readonly state: "good" | "weak" | "missing";
  readonly detail: string;
}

/** As many programs wait for a guest as may. */
export class QueueFull extends PortcullisError {
  /** How many may wait at once. */
  readonly allowed: number;

  constructor(allowed: number) {
    super(
      "queue_full",
      `${allowed} programs wait for an engine or a container already, which is as many as may. Try again later, or let the sandbox have more of them (engines, containers) or a longer queue (queue).`,
    );
    this.allowed = allowed;
  }
}

export interface OpenOptions {
  readonly language: Language;
  readonly limits: SandboxLimits;
  /** Guests of two tenants never share a process. */
  readonly tenant: string;
  /** Told of each connection that the guest has made to the world outside, once it has ended and before the guest's exit. */
  readonly onConnection?: (connection: Connection) => void;
}

/** The limits that the wall itself holds. */
export interface SandboxLimits {
  /** Memory the program may take, of every kind. */
  readonly memoryBytes: number;
  /** Largest frame the guest may send. */
  readonly frameBytes: number;
}

/**
 * One guest: text in, text out, and an end. The owner reads `frames` to their end, and calls either `release`
 * or `kill`; disposing kills what was not released.
 */
export interface Guest extends AsyncDisposable {
  /** Sends frames to the guest. After the exit it does nothing. Never waits for the guest to read. */
  send(frames: readonly string[]): void;
  /** What the guest sent, as it arrived: all frames of one arrival together. Ends with the guest. Iterate once. */
  readonly frames: AsyncIterable<readonly string[]>;
  /** Resolves once, with how the guest ended; never rejects. */
  readonly exit: Promise<Exit>;
  usage(): ResourceUsage;
  /** Ends the guest now, whatever it does. The first reason given is the one that counts. */
  kill(reason: KillReason): void;
  /** Says that the program has settled and nothing is pending, so that the sandbox may use again what it can. */
  release(): void;
}

/** Why an owner ends a guest: in its own words, handed back in the exit. */
export type KillReason = string;

export type Exit =
  /** Released by its owner. */
  | { readonly type: "released" }
  /** Ended by its owner. */
  | { readonly type: "killed"; readonly reason: KillReason }
  /** Took more memory than allowed. `seenBytes` is what was seen before it was ended. */
  | { readonly type: "memory"; readonly seenBytes: number }
  /** Sent bytes that are no frames, or a frame over `frameBytes`. */
  | { readonly type: "broken"; readonly detail: string }
  /** Ended by itself, for a cause of its own. `detail` is for the operator. */
  | { readonly type: "died"; readonly detail: string };

/** How a guest ends that sent a frame larger than it may. */
export function endOfOversize({ bytes, allowed }: OversizeFrame): Exit {
  return { type: "broken", detail: `a frame of ${bytes} bytes, at most ${allowed} are allowed` };
}

export interface ResourceUsage {
  /** Most memory seen, in bytes above what an idle guest takes; 0 where it cannot be watched. */
  readonly peakMemoryBytes: number;
  /**
   * Processor time that the guest has used, in milliseconds: what it has used between two readings is their difference,
   * and nothing else is meant by a reading. It never falls, and is at most half a second old. Undefined where the system
   * does not tell it.
   */
  readonly processorMs: number | undefined;
}

/** A connection from a guest to a host outside, or an attempt at one, where its sandbox has such a way. */
export type Connection = Omit<EgressRecord, "type" | "at">;
