import type { GuestTurn } from "../../bridge/turn-reader.ts";
import type { TurnRecord } from "../journal/record.ts";
import { type Connection, QueueFull, type Sandbox } from "../sandboxes/sandbox.ts";
import type { Lane } from "../values/slice-scheduler.ts";
import type { Clocks } from "./clocks.ts";
import { detailOf, endingOfGuest, endingUnopened, endingDiverged } from "./endings.ts";
import type { GuestEvent } from "./guest-event.ts";
import { areTurns, GuestLink, type LinkEnd, type LinkOptions } from "./guest-link.ts";
import type { Limits } from "./limits.ts";
import type { Ending } from "./outcome.ts";
import { replayTurns } from "./replay-turns.ts";
import type { TrackedLog } from "./tracked-log.ts";

/** Most replays in a row in which the execution gets no turn further, and most replays of one execution. */
const REPLAYS_WITHOUT_PROGRESS = 3;
const REPLAYS = 20;

export interface SupervisorOptions {
  readonly sandbox: Sandbox;
  readonly open: LinkOptions;
  readonly limits: Limits;
  readonly log: TrackedLog;
  readonly clocks: Clocks;
  readonly lane: Lane;
  /** The execution cannot go on. */
  readonly onEnding: (ending: Ending) => void;
}

/** Keeps an execution supplied with a guest: one as a rule, and another that replays the turns so far where it dies. */
export class GuestSupervisor implements AsyncDisposable {
  readonly #options: SupervisorOptions;
  /** Kept for a replay. */
  readonly #turns: TurnRecord[] = [];
  readonly #over = new AbortController();
  #link: GuestLink | undefined;
  /** How the guest before has ended. */
  #end: LinkEnd | undefined;
  /** Deaths since the execution got a turn further. */
  #deaths = 0;
  #mayReplace = true;
  #queuedMs = 0;
  #queuedSince: number | undefined;
  #peakMemoryBytes = 0;

  constructor(options: SupervisorOptions) {
    this.#options = options;
  }

  /** Time without a guest. */
  get queuedMs(): number {
    return this.#queuedMs + (this.#queuedSince === undefined ? 0 : performance.now() - this.#queuedSince);
  }

  get processorMs(): number | undefined {
    return this.#link?.guest.usage().processorMs;
  }

  get peakMemoryBytes(): number {
    return this.#peakMemoryBytes;
  }

  /**
   * Brings a guest to where the last turn ended. Resolves with false once the execution is over. Rejects where the
   * journal does, and where the sandbox has no guest to give to a program of which nothing was done.
   */
  async open(): Promise<boolean> {
    while (!this.#over.signal.aborted) {
      if (this.#end && !(await this.#isReplaced(this.#end))) return false;
      this.#end = await this.#openGuest();
      if (!this.#end) return true;
    }
    return false;
  }

  send(events: readonly GuestEvent[]): void {
    this.#options.clocks.run();
    this.#link?.send(events);
  }

  /** The next turns that ended together; undefined where the guest has ended. */
  async nextTurns(): Promise<readonly GuestTurn[] | undefined> {
    if (!this.#link) return undefined;
    const heard = await this.#link.nextTurns();
    if (!areTurns(heard)) {
      this.#noteMemory();
      this.#options.clocks.wait();
      this.#end = heard;
      return undefined;
    }
    if (this.#link.outstanding === 0) this.#options.clocks.wait();
    return heard;
  }

  /** Keeps turns for a replay. */
  keep(turns: readonly TurnRecord[]): void {
    this.#turns.push(...turns);
  }

  /** The program is to end: where its guest dies, no other one takes it up. */
  endReplacing(): void {
    this.#mayReplace = false;
  }

  /** Replaying has taken as long as the program may run. */
  endReplays(): void {
    this.#mayReplace = false;
    this.#link?.guest.kill("replaying what it had done took longer than it may run (runningMs)");
  }

  /** The execution is over. A guest that has settled goes back to its sandbox, any other is killed. */
  end(ending: Ending): void {
    this.#over.abort(OVER);
    const hasSettled =
      ending.type === "completed" || (ending.type === "failed" && ending.fault.code !== "never_settles");
    if (hasSettled) this.#link?.release();
    else this.#link?.guest.kill(ending.type);
    this.#noteMemory();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#link?.[Symbol.asyncDispose]();
  }

  /** Whether another guest takes the execution up. Says how the execution ends where none does. */
  async #isReplaced(end: LinkEnd): Promise<boolean> {
    const { limits, log, onEnding } = this.#options;
    const { state } = log;
    this.#deaths = state.turnsSinceStart > 0 ? 1 : this.#deaths + 1;
    const mayReplay = this.#deaths <= REPLAYS_WITHOUT_PROGRESS && state.restarts < REPLAYS && this.#mayReplace;
    const ending = endingOfGuest(end, limits, state.unreplayable, mayReplay);
    if (ending) {
      onEnding(ending);
      return false;
    }
    await log.append({ type: "restart", detail: detailOf(end), at: Date.now() });
    return true;
  }

  async #openGuest(): Promise<LinkEnd | undefined> {
    const { sandbox, open, limits, log, clocks, lane, onEnding } = this.#options;
    const { turns } = log.state;
    const onConnection = (connection: Connection) => this.#noteConnection(connection);
    const since = performance.now();
    this.#queuedSince = since;
    const late = setTimeout(() => onEnding(endingUnopened(turns, "queueMs", limits.queueMs)), limits.queueMs);
    let link: GuestLink;
    try {
      link = await GuestLink.open(sandbox, { ...open, lane, onConnection }, this.#over.signal);
    } catch (error) {
      if (error instanceof QueueFull) onEnding(endingUnopened(turns, "queue", error.allowed));
      if (turns === 0) throw error;
      // What was done cannot be undone, and has to be reported.
      return { type: "died", detail: error instanceof Error ? error.message : String(error) };
    } finally {
      clearTimeout(late);
      this.#queuedMs += performance.now() - since;
      this.#queuedSince = undefined;
    }
    this.#link = link;
    if (this.#over.signal.aborted) {
      await link[Symbol.asyncDispose]();
      return { type: "released" };
    }
    clocks.begin();
    return turns === 0 ? undefined : this.#replay(link);
  }

  /** Brings a fresh guest to where the last one was. All replays of a program may take as long as it may run. */
  async #replay(link: GuestLink): Promise<LinkEnd | undefined> {
    const { clocks, onEnding } = this.#options;
    clocks.replay();
    const replayed = await replayTurns(link, this.#turns);
    clocks.wait();
    if (replayed.type === "ended") return replayed.end;
    if (replayed.type !== "diverged") return undefined;
    onEnding(endingDiverged(replayed.divergence));
    return { type: "released" };
  }

  /** The sandbox says so; a guest cannot. */
  #noteConnection(connection: Connection): void {
    void this.#options.log.append({ type: "egress", ...connection, at: Date.now() });
  }

  #noteMemory(): void {
    this.#peakMemoryBytes = Math.max(this.#peakMemoryBytes, this.#link?.guest.usage().peakMemoryBytes ?? 0);
  }
}

/** Made once, because an error takes longer to make than a short program to run. */
const OVER = new Error("The execution has ended.");
