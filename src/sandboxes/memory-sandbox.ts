import { readFileSync } from "node:fs";
import { promiseHooks } from "node:v8";
import { constants, createContext, Script } from "node:vm";
import {
  bareFunction,
  ignore,
  type OptionsOf,
  packageFile,
  readOptions,
  setImmediate,
  thrownMessage,
} from "../base/index.ts";
import { frameQueue } from "./frame-queue.ts";
import {
  checkLanguage,
  EndingGuest,
  endOfRefused,
  type Exit,
  type Guest,
  type OpenOptions,
  type Sandbox,
} from "./sandbox.ts";

/** The functions of a guest script that its host calls during an execution; see `bridge/guest/guest.js`. */
export interface GuestFace {
  deliver(text: string): void;
  /** Frames since the last drain, joined by U+001E. */
  drain(): string;
}

const LANGUAGES = ["javascript"] as const;

export const MEMORY_RULES = {
  /** Replaces the guest script, so that a test can send any frame. Called once for each guest. */
  guest: bareFunction<() => GuestFace>(),
};

export type MemorySandboxOptions = OptionsOf<typeof MEMORY_RULES>;

/**
 * A sandbox for tests: runs the real guest script in a context of this process. It starts at once and needs
 * nothing installed. It is **not a security boundary**: a program can reach the host process, and can block it or
 * exhaust its memory. Run only programs that you wrote yourself.
 */
export function createMemorySandbox(options: MemorySandboxOptions = {}): Sandbox {
  const { guest: makeGuest = loadGuest } = readOptions("createMemorySandbox", options, MEMORY_RULES);
  const guests = new Set<Guest>();
  return {
    name: "memory",
    languages: LANGUAGES,
    async open({ language, limits }: OpenOptions, signal: AbortSignal): Promise<Guest> {
      signal.throwIfAborted();
      checkLanguage("memory", LANGUAGES, language);
      const guest = new MemoryGuest(makeGuest(), limits.frameBytes);
      guests.add(guest);
      void guest.exit.then(() => guests.delete(guest));
      return guest;
    },
    async [Symbol.asyncDispose]() {
      for (const guest of guests) guest.kill("the sandbox was closed");
      await Promise.all([...guests].map((guest) => guest.exit));
    },
  };
}

/** There is no process to end and none to measure. The first ending counts. */
class MemoryGuest extends EndingGuest implements Guest {
  readonly frames = frameQueue(Infinity, ignore);
  readonly #face: GuestFace;
  readonly #frameBytes: number;
  #hasEnded = false;

  constructor(face: GuestFace, frameBytes: number) {
    super();
    this.#face = face;
    this.#frameBytes = frameBytes;
    this.#run(ignore);
  }

  send(frames: readonly (string | readonly string[])[]): void {
    for (const frame of frames) this.#run(() => this.#face.deliver([frame].flat().join("")));
  }

  usage() {
    return { peakMemoryBytes: 0, processorMs: undefined };
  }

  protected end(exit: Exit): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.frames.end();
    this.exited.resolve(exit);
  }

  /** Runs one turn in a later tick, so that guest code never runs inside a call of `send`. */
  #run(turn: () => void): void {
    setImmediate(() => {
      if (this.#hasEnded) return;
      try {
        turn();
        drainMicrotasks.runInThisContext();
        this.#take(this.#face.drain());
      } catch (error) {
        this.end({ type: "died", detail: thrownMessage(error) });
      }
    });
  }

  #take(drained: string): void {
    if (drained === "") return;
    const frames = drained.split("\u001e");
    const oversize = frames.find((frame) => Buffer.byteLength(frame) > this.#frameBytes);
    if (oversize === undefined) this.frames.push(frames);
    else this.end(endOfRefused({ bytes: Buffer.byteLength(oversize), allowed: this.#frameBytes }));
  }
}

let guestScript: Script | undefined;
let globals: string | undefined;
const drainMicrotasks = new Script("0");

function loadGuest(): GuestFace {
  guestScript ??= new Script(readFileSync(packageFile("#guest/guest.js"), "utf8"), {
    filename: "guest.js",
  });
  globals ??= readFileSync(packageFile("#guest/globals.js"), "utf8");
  const context = createContext(constants.DONT_CONTEXTIFY, { microtaskMode: "afterEvaluate" });
  const face = guestScript.runInContext(context) as GuestFace & { provide(text: string, replacing: string): void };
  // The program must not see the locale and the zone of this process.
  face.provide(globals, "utc");
  return {
    deliver(text) {
      withoutRejections(() => {
        face.deliver(text);
        drainMicrotasks.runInContext(context);
      });
    },
    drain: () => face.drain(),
  };
}

/** Runs a turn of a program. node would end this process for a promise that the program rejects and nothing handles. */
function withoutRejections(turn: () => void): void {
  const settled: Promise<unknown>[] = [];
  const stop = promiseHooks.onSettled((promise) => settled.push(promise)) as () => void;
  try {
    turn();
  } finally {
    stop();
    // Not earlier: V8 follows an error's asynchronous stack only through promises with one handler.
    for (const promise of settled) handleRejection(promise);
  }
}

/**
 * Handles the rejection of a settled promise. `then` asks for the promise's `constructor`, which the program may replace by
 * what throws or makes no promise, and by which the guest knows the calls that the program has awaited: an own property of
 * that name hides it.
 */
function handleRejection(promise: Promise<unknown>): void {
  const own = Reflect.getOwnPropertyDescriptor(promise, "constructor");
  // A frozen promise cannot hide it.
  if (!Reflect.defineProperty(promise, "constructor", { value: undefined, configurable: true }) && own) return;
  void Promise.prototype.then.call(promise, undefined, ignore);
  if (own) Reflect.defineProperty(promise, "constructor", own);
  else Reflect.deleteProperty(promise, "constructor");
}
