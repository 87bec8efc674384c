import { after, cancel, now, PortcullisError, type Share, thrownMessage } from "../../base/index.ts";
import type { GuestTurn } from "../../../bridge/turn-reader.ts";
import { type Connection, QueueFull } from "../../sandboxes/sandbox.ts";
import type { Closing } from "../../sandboxes/closing.ts";
import { type Clocks, stopwatch } from "../drive/limit-clocks.ts";
import { detailOf, endingDiverged, endingOfGuest, endingUnopened } from "../drive/ending/endings.ts";
import type { GuestEvent } from "./guest-event.ts";
import { areTurns, type GuestLink, type LinkEnd, openLink } from "./guest-link.ts";
import type { Ending, NotEvictedCause } from "../outcome.ts";
import type { Scope } from "../scope.ts";
import { replayTurns } from "./replay-turns.ts";
import type { TrackedLog } from "../from-journal/tracked-log.ts";

const REPLAYS_WITHOUT_PROGRESS = 3;
const REPLAYS = 20;

/** Work of the host in a millisecond of a replay: bytes of text moved to a guest, turns read and compared. */
const BYTES_PER_MS = 100_000;
const TURNS_PER_MS = 100;
/** The part of `cpuMs` that replays after evictions for its own tenant may take. The rest is for other replays. */
const EVICTION_PART = 0.5;
/** How many times as long as expected a replay may take without exceeding that part. */
const REPLAY_MARGIN = 2;
/** The part of its memory limit up to which a program is evicted for its own tenant. A replay makes its garbage at another pace, and must not exceed the limit. */
const MEMORY_PART = 0.5;

export interface SupervisorOptions {
  readonly scope: Scope;
  readonly log: TrackedLog;
  readonly clocks: Clocks;
  readonly share: Share;
  readonly hasWork: () => boolean;
  /** Called when the execution cannot continue. */
  readonly onEnding: (ending: Ending) => void;
  /** Called when this driver cannot continue, and another one may. */
  readonly onFailure: (error: unknown) => void;
}

/**
 * Provides an execution with a guest. If the guest dies, opens another one and replays the turns so far in it; if it is
 * evicted, does the same once the program has something to do.
 */
export class GuestSupervisor implements AsyncDisposable {
  readonly #options: SupervisorOptions;
  readonly #over = new AbortController();
  #waited = stopwatch();
  #link: GuestLink | undefined;
  /** Settles once the journal says that the program has the turn, and the events that wait for this are sent. */
  #handing: Promise<void> | undefined;
  #end: LinkEnd | undefined;
  #deaths = 0;
  #mayReplace = true;
  #hasOpened = false;
  evictions = 0;
  /** Whether the program was evicted, and has not been brought to its state again. */
  #isReturning = false;
  #tookMemory = false;
  #wake: (() => void) | undefined;
  /** Why the program kept its guest from others of its tenant while it waited; undefined as long as it could give it up. */
  notEvicted: NotEvictedCause | undefined;
  readonly queued = stopwatch();
  peakMemoryBytes = 0;

  constructor(options: SupervisorOptions) {
    this.#options = options;
  }

  get processorMs(): number | undefined {
    return this.#link?.guest.usage().processorMs;
  }

  /** Whether all that the guest has sent is read and carried out. */
  get isListening(): boolean {
    return this.#link?.isListening !== false;
  }

  get isEvicted(): boolean {
    return this.#end?.type === "evicted";
  }

  /**
   * Opens a guest and brings it to the state after the last turn. Resolves with false once the execution is over.
   * Rejects if the journal does, or if the sandbox cannot open the first guest of this driver.
   */
  async open(): Promise<boolean> {
    while (!this.#over.signal.aborted) {
      if (this.#end && !(await this.#isNeeded(this.#end))) return false;
      this.#end = await this.#openGuest();
      if (!this.#end) return true;
    }
    return false;
  }

  /** The program waits, and all its turns are in the journal: if another program needs its guest, it may be evicted. */
  offer(): void {
    const { clocks, log, scope, share } = this.#options;
    const { limits } = scope;
    const guest = this.#link?.guest;
    if (!guest?.offer || this.#link?.outstanding !== 0) return;
    this.#noteMemory();
    const hostMs = this.#link.movedBytes / BYTES_PER_MS + log.state.turns / TURNS_PER_MS;
    const costMs = clocks.replayMs + hostMs;
    const waitedMs = this.#waited.ms;
    this.#waited.start();
    const replayingMs = costMs * REPLAY_MARGIN + clocks.replayingMs;
    // What a replay does not bring back counts as computing until it has waited for as long as a program may compute.
    const lostMs = limits.cpuMs - waitedMs;
    this.notEvicted = log.state.unreplayable;
    if (replayingMs > limits.cpuMs) this.notEvicted ??= "replay";
    if (this.#tookMemory) this.notEvicted ??= "memory";
    const othersMs = this.notEvicted === undefined ? costMs - waitedMs : lostMs;
    if (replayingMs > limits.cpuMs * EVICTION_PART) this.notEvicted ??= "replay";
    if (this.peakMemoryBytes > limits.memoryBytes * MEMORY_PART) this.notEvicted ??= "memory";
    const mayReturn = this.notEvicted === undefined && share.isRoomy;
    const ownMs = mayReturn ? costMs : Infinity;
    guest.offer({ ownMs, othersMs, lostMs });
  }

  wake(): void {
    this.#waited.stop();
    this.#wake?.();
  }

  /** Sends events to the guest; the first after a take-up once the journal says that the program has the turn. */
  send(events: readonly GuestEvent[]): void {
    const before = this.#handing ?? this.#options.log.hand("program");
    if (!before) return this.#sendNow(events);
    const link = this.#link;
    const sent = before.then(() => {
      if (this.#handing === sent) this.#handing = undefined;
      // If the guest has died meanwhile, the next guest is sent all events again.
      if (this.#link === link) this.#sendNow(events);
    });
    this.#handing = sent;
    sent.catch(this.#options.onFailure);
  }

  #sendNow(events: readonly GuestEvent[]): void {
    this.#options.clocks.run();
    this.#link?.send(events);
  }

  giveBackTurns(): void {
    this.#link?.giveBackTurns();
  }

  /** The next turns that arrived together; undefined if the guest has ended. */
  nextTurns(): Promise<readonly GuestTurn[] | undefined> {
    const link = this.#link;
    return link ? link.nextTurns().then((heard) => this.#hear(link, heard)) : Promise.resolve(undefined);
  }

  #hear(link: GuestLink, heard: readonly GuestTurn[] | LinkEnd): readonly GuestTurn[] | undefined {
    const { clocks } = this.#options;
    if (!areTurns(heard)) {
      this.#noteMemory();
      link.noteEnd();
      clocks.wait();
      this.#end = heard;
      if (heard.type === "evicted") this.#link = undefined;
      return undefined;
    }
    if (link.outstanding === 0) clocks.wait();
    return heard;
  }

  /** Opens no further guest if this one dies: the program is being stopped. */
  endReplacing(): void {
    this.#mayReplace = false;
  }

  endReplays(): void {
    this.#mayReplace = false;
    this.#link?.guest.kill("replaying its turns took longer than the program may run (cpuMs)");
  }

  /** Ends the execution. A guest that has settled is released to its sandbox, any other is killed. */
  end(ending: Ending): void {
    this.#over.abort(OVER);
    this.#wake?.();
    // A program that waits has nothing left to run.
    const isDone =
      ending.type === "completed" ||
      ending.type === "waiting" ||
      (ending.type === "failed" && ending.fault.code !== "never_settles");
    if (isDone) this.#link?.release();
    else this.#link?.guest.kill(ending.type);
    this.#noteMemory();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#link?.[Symbol.asyncDispose]();
  }

  /** Resolves once another guest is to continue the execution, with false if none may. */
  async #isNeeded(end: LinkEnd): Promise<boolean> {
    // The eviction may have ended a connection, which makes the program unreplayable. That is known only now.
    if (end.type !== "evicted" || this.#options.log.state.unreplayable !== undefined) return this.#isReplaced(end);
    this.evictions += 1;
    this.#isReturning = true;
    await this.#rest(end.closing);
    return !this.#over.signal.aborted;
  }

  /** Waits without a guest until the program has something to do, or its sandbox is closed. */
  async #rest(closing: Closing): Promise<void> {
    const { clocks, share, hasWork } = this.#options;
    if (hasWork() || closing.isOver) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = () => resolve();
    this.#wake = wake;
    closing.listen(wake);
    share.count(RESTING_BYTES);
    clocks.rest();
    await promise;
    share.giveBack(RESTING_BYTES);
    closing.forget(wake);
    this.#wake = undefined;
  }

  /** Whether another guest may continue the execution. If not, calls `onEnding`. */
  async #isReplaced(end: LinkEnd): Promise<boolean> {
    const { log, onEnding, scope } = this.#options;
    const { state } = log;
    this.#deaths = state.turnsSinceStart > 0 ? 1 : this.#deaths + 1;
    const mayReplay = this.#deaths <= REPLAYS_WITHOUT_PROGRESS && state.restarts < REPLAYS && this.#mayReplace;
    const ending = endingOfGuest(end, scope.limits, state.unreplayable, mayReplay);
    if (ending) {
      onEnding(ending);
      return false;
    }
    await log.append({ type: "restart", detail: detailOf(end), at: now() });
    return true;
  }

  async #openGuest(): Promise<LinkEnd | undefined> {
    const { scope, log, clocks, share, onEnding, onFailure } = this.#options;
    const { sandbox, language, limits, tenant } = scope;
    const { turns } = log.state;
    clocks.leave();
    // An execution that was taken up may continue elsewhere, as long as it has not had a guest here.
    const mayGoElsewhere = log.state.drivers.isTakenUp && !this.#hasOpened;
    const hasBegun = turns > 0 && this.#hasOpened;
    // Connections are reported by the sandbox, so a guest cannot forge or hide them.
    const onConnection = (one: Connection) => void log.append({ type: "egress", ...one, at: now() });
    this.queued.start();
    const late = after(limits.queueMs, () => {
      if (mayGoElsewhere) {
        this.#over.abort(OVER);
        onFailure(noneFree(limits.queueMs));
      } else onEnding(endingUnopened(turns, "queueMs", limits.queueMs, this.#isReturning));
    });
    let link: GuestLink;
    try {
      const options = { language, limits, tenant, share, hasBegun, onConnection };
      link = await openLink(sandbox, options, this.#over.signal);
    } catch (error) {
      if (mayGoElsewhere) throw error;
      if (error instanceof QueueFull) onEnding(endingUnopened(turns, "queue", error.allowed, this.#isReturning));
      if (turns === 0) throw error;
      // After the first turn the program may have had effects: this must become a reported ending, not a rejection.
      return { type: "died", detail: thrownMessage(error) };
    } finally {
      cancel(late);
      this.queued.stop();
    }
    this.#link = link;
    this.#hasOpened = true;
    this.#waited = stopwatch();
    if (this.#over.signal.aborted) {
      await link[Symbol.asyncDispose]();
      return { type: "released" };
    }
    clocks.begin();
    const end = turns === 0 ? undefined : await this.#replay(link);
    if (!end) {
      this.#isReturning = false;
      clocks.arrive();
    }
    if (end?.type !== "memory" || !this.#isReturning) return end;
    // The program has reached this point within its limit before. So another guest can replay it too, and then the
    // program keeps that guest.
    this.#tookMemory = true;
    return { type: "died", detail: "the replay of the program, which had been evicted, took too much memory" };
  }

  /** Brings a new guest to the state of the last guest. All replays of a program together may take `cpuMs`. */
  async #replay(link: GuestLink): Promise<LinkEnd | undefined> {
    const { clocks, log, share, onEnding } = this.#options;
    await log.hand("program");
    clocks.replay();
    const replayed = await replayTurns(link, log.turns(), (bytes) => share.count(bytes));
    clocks.wait();
    void log.hand("host");
    if (replayed.type === "ended") return replayed.end;
    if (replayed.type !== "diverged") return undefined;
    onEnding(endingDiverged(replayed.divergence));
    return { type: "released" };
  }

  #noteMemory(): void {
    this.peakMemoryBytes = Math.max(this.peakMemoryBytes, this.#link?.guest.usage().peakMemoryBytes ?? 0);
  }
}

function noneFree(queueMs: number): PortcullisError {
  return new PortcullisError(
    "queue_full",
    `No engine or container was free within ${queueMs} ms (queueMs). The execution stays as it is: take it up again later, or elsewhere.`,
  );
}

/** Memory of the host for an evicted program beside what it holds anyway, in bytes. */
const RESTING_BYTES = 48 * 1024;

/** Created once: creating an error takes longer than a short program. */
const OVER = new Error("The execution has ended.");
