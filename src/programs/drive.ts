import { answerText, type ErrorBody, frameText, type GuestFrame, type UnreplayableCause } from "../../bridge/frames.ts";
import type { GuestTurn } from "../../bridge/turn-reader.ts";
import type { Answer } from "../gate/answer.ts";
import type { GateSession } from "../gate/session.ts";
import { memoryOf } from "../values/held-bytes.ts";
import type { SlicedWork } from "../values/slice-scheduler.ts";
import type { ExecutionLog } from "../journal/execution-log.ts";
import type { TurnRecord } from "../journal/record.ts";
import { type Connection, QueueFull, type Sandbox } from "../sandboxes/sandbox.ts";
import type { ToolSet } from "../tools/tool-set.ts";
import { Clocks } from "./clocks.ts";
import { areTurns, type GuestEvent, GuestLink, type LinkEnd, type LinkOptions } from "./guest-link.ts";
import type { Limits } from "./limits.ts";
import { LogCollector, type Logs } from "./log-collector.ts";
import type { Ending } from "./outcome.ts";
import { replayTurns } from "./replay-turns.ts";
import { parseValue, settle } from "./settlement.ts";
import type { SourceMap } from "./source-map.ts";

/** How often an execution is replayed in a fresh engine without having got a turn further, before it is given up. */
const REPLAYS_WITHOUT_PROGRESS = 3;
/** How often at all. */
const REPLAYS = 20;
/** Time a program has to print its last words when it is stopped while it waits, in milliseconds. */
const LAST_WORDS_MS = 100;
/** What a command takes in memory beside its text, in bytes. */
const COMMAND_BYTES = 256;
/** Text of events that is sent before others get the host's thread, in characters. */
const FLUSH_LENGTH = 4 * 1024 * 1024;

export interface DriveOptions {
  readonly sandbox: Sandbox;
  readonly open: LinkOptions;
  readonly limits: Limits;
  readonly log: ExecutionLog;
  readonly session: GateSession;
  readonly tools: ToolSet;
  /** Text of the `start` frame, for a program that starts at this time. */
  readonly start: (now: number) => string;
  readonly map: SourceMap;
  readonly signal: AbortSignal;
  readonly onOutput: (text: string) => void;
}

export interface Driven {
  readonly ending: Ending;
  readonly logs: Logs;
  /** What the reader of the result should know, in sentences. */
  readonly notes: readonly string[];
  readonly turns: number;
  readonly restarts: number;
  /** Time without a guest. */
  readonly queuedMs: number;
  readonly runningMs: number;
  /** Time since there was a guest. */
  readonly wallMs: number;
  readonly peakMemoryBytes: number;
  readonly connections: ConnectionTotals;
}

/** Of the connections that a program has made to the world outside, refused ones included. */
export interface ConnectionTotals {
  readonly count: number;
  readonly bytesUp: number;
  readonly bytesDown: number;
}

export const NO_CONNECTIONS: ConnectionTotals = { count: 0, bytesUp: 0, bytesDown: 0 };

/** Drives one program from its start to its ending: hands it events, journals its turns, carries out its commands. Rejects only where the journal does, or the sandbox has no guest to give. */
export function drive(options: DriveOptions): Promise<Driven> {
  return new Drive(options).run();
}

/** Timers that one turn has set. None fires before all are armed, which may take longer than the first waits. */
interface Naps {
  /** Once all are armed, the next one last. */
  readonly waiting: { readonly id: number; readonly ms: number }[];
  areArmed: boolean;
  /** The longest of those that were due before that. */
  overdueMs: number;
}

class Drive {
  readonly #options: DriveOptions;
  readonly #clocks: Clocks;
  readonly #logs: LogCollector;
  readonly #notes: string[] = [];
  readonly #turns: TurnRecord[] = [];
  /** Events whose turns have not ended, in the order they were handed over or will be. */
  readonly #events: GuestEvent[] = [];
  /** Events of those that no guest has been sent yet. */
  #unsent: GuestEvent[] = [];
  #link: GuestLink | undefined;
  /** Whether the link's guest stands where the last turn ended, so that events may be sent to it. */
  #caughtUp = false;
  /** Calls that were passed to the gate and have no answer yet: their names by id. */
  readonly #calls = new Map<number, string>();
  readonly #timers = new Map<number, NodeJS.Timeout>();
  #now = 0;
  #restarts = 0;
  #replaysTooLong = false;
  #queuedMs = 0;
  #queuedSince: number | undefined;
  /** What the program has used that another guest would not find as it was. */
  #unreplayable: UnreplayableCause | undefined;
  #peakMemoryBytes = 0;
  #connections = NO_CONNECTIONS;
  /** The ending that is due once the program has had its last words. */
  #stopping: Ending | undefined;
  readonly #decided = Promise.withResolvers<Ending>();
  readonly #over = new AbortController();
  #ending: Ending | undefined;

  constructor(options: DriveOptions) {
    this.#options = options;
    this.#logs = new LogCollector(options.limits.logBytes);
    this.#clocks = new Clocks(
      options.limits,
      ({ limit, allowed, seen }) => {
        if (limit === "replays") this.#endReplays();
        else this.#stop({ type: "stopped", limit, allowed, seen });
      },
      () => this.#link?.guest.usage().processorMs,
    );
  }

  async run(): Promise<Driven> {
    const { signal } = this.#options;
    const onAbort = () => this.#stop({ type: "cancelled" });
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    const attending = this.#attendGuests();
    // Once the ending is decided, what waiting for a guest comes to does not matter.
    attending.catch(() => {});
    try {
      await Promise.race([this.#decided.promise, attending]);
    } finally {
      signal.removeEventListener("abort", onAbort);
      this.#decide({ type: "cancelled" });
      await this.#link?.[Symbol.asyncDispose]();
    }
    return {
      ending: await this.#decided.promise,
      logs: this.#logs.logs,
      notes: this.#notes,
      turns: this.#turns.length,
      restarts: this.#restarts,
      queuedMs: this.#queuedMs + (this.#queuedSince === undefined ? 0 : performance.now() - this.#queuedSince),
      runningMs: this.#clocks.runningMs,
      wallMs: this.#clocks.wallMs,
      peakMemoryBytes: this.#peakMemoryBytes,
      connections: this.#connections,
    };
  }

  // ---- guests: one as a rule, another where an engine dies ------------------------------------------------------

  async #attendGuests(): Promise<void> {
    for (let deaths = 0; this.#ending === undefined;) {
      const turnsBefore = this.#turns.length;
      const end = await this.#attendGuest();
      if (this.#ending !== undefined) return;
      deaths = this.#turns.length > turnsBefore ? 1 : deaths + 1;
      this.#conclude(end, deaths);
      if (this.#ending === undefined) {
        this.#restarts += 1;
        await this.#options.log.append({ type: "restart", detail: detailOf(end), at: Date.now() });
      }
    }
  }

  /** What the end of a guest means for the execution: nothing, where another guest can take it up. */
  #conclude(end: LinkEnd, deaths: number): void {
    const { memoryBytes } = this.#options.limits;
    if (end.type === "memory") {
      this.#decide({
        type: "stopped",
        limit: "memoryBytes",
        allowed: memoryBytes,
        seen: Math.max(end.seenBytes, memoryBytes),
      });
    } else if (end.type === "broken" || end.type === "violation") {
      void this.#options.log.append({ type: "violation", detail: end.detail, at: Date.now() });
      this.#decide({ type: "crashed", code: "bridge_broken", detail: end.detail });
    } else if (end.type === "too_long") {
      const { totalBytes } = this.#options.limits;
      this.#decide({ type: "stopped", limit: "totalBytes", allowed: totalBytes, seen: end.length });
    } else if (this.#unreplayable !== undefined) {
      const detail = `${detailOf(end)}; it was not run again, because it had used what a replay would not find as it was (${this.#unreplayable})`;
      this.#decide({ type: "crashed", code: "engine_died", detail });
    } else if (deaths > REPLAYS_WITHOUT_PROGRESS || this.#restarts >= REPLAYS || this.#replaysTooLong) {
      this.#decide({ type: "crashed", code: "engine_died", detail: detailOf(end) });
    }
  }

  async #attendGuest(): Promise<LinkEnd> {
    const { sandbox, open, limits } = this.#options;
    const onConnection = (connection: Connection) => this.#noteConnection(connection);
    let link: GuestLink;
    const since = performance.now();
    this.#queuedSince = since;
    const waitedTooLong = setTimeout(() => this.#decideUnopened("queueMs", limits.queueMs), limits.queueMs);
    try {
      const { lane } = this.#options.session.share;
      link = await GuestLink.open(sandbox, { ...open, lane, onConnection }, this.#over.signal);
    } catch (error) {
      if (error instanceof QueueFull) this.#decideUnopened("queue", error.allowed);
      if (this.#turns.length === 0) throw error;
      // What was done cannot be undone, and has to be reported.
      return { type: "died", detail: error instanceof Error ? error.message : String(error) };
    } finally {
      clearTimeout(waitedTooLong);
      this.#queuedMs += performance.now() - since;
      this.#queuedSince = undefined;
    }
    this.#link = link;
    if (this.#ending !== undefined) {
      await link[Symbol.asyncDispose]();
      return { type: "released" };
    }
    this.#clocks.begin();
    if (this.#events.length === 0 && this.#turns.length === 0)
      this.#push({ text: this.#options.start(this.#tick()), closes: undefined });
    if (this.#turns.length > 0) {
      const replayed = await this.#replay(link);
      if (replayed) return replayed;
    }
    this.#unsent = [...this.#events];
    this.#caughtUp = true;
    this.#flush();
    for (;;) {
      const heard = await link.nextTurns();
      if (!areTurns(heard)) {
        this.#noteMemory();
        this.#caughtUp = false;
        this.#clocks.wait();
        return heard;
      }
      if (link.outstanding === 0) this.#clocks.wait();
      if (this.#ending === undefined) await this.#take(heard);
      if (this.#ending !== undefined) return { type: "released" };
    }
  }

  /** No guest has been given to the program within a limit of waiting. */
  #decideUnopened(limit: "queueMs" | "queue", allowed: number): void {
    if (this.#turns.length === 0) return this.#decide({ type: "stopped", limit, allowed, seen: allowed });
    const detail = `its engine died, and waiting for another one reached a limit (${limit}, ${allowed})`;
    this.#decide({ type: "crashed", code: "engine_died", detail });
  }

  #endReplays(): void {
    this.#replaysTooLong = true;
    this.#link?.guest.kill("replaying what it had done took longer than it may run (runningMs)");
  }

  /** Brings a fresh guest to where the last one was. All replays of a program may take as long as it may run. */
  async #replay(link: GuestLink): Promise<LinkEnd | undefined> {
    this.#clocks.replay();
    const replayed = await replayTurns(link, this.#turns);
    this.#clocks.wait();
    if (replayed.type === "diverged") {
      const { turn, recorded, replayed: done } = replayed.divergence;
      this.#decide({
        type: "crashed",
        code: "replay_diverged",
        detail: `Run again after its engine died, at turn ${turn} the program did ${done.slice(0, 200)}, recorded is ${recorded.slice(0, 200)}.`,
      });
      return { type: "released" };
    }
    return replayed.type === "ended" ? replayed.end : undefined;
  }

  // ---- turns: journalled, then carried out ------------------------------------------------------------------------

  async #take(ended: readonly GuestTurn[]): Promise<void> {
    const turns = ended.map(({ texts }): TurnRecord => ({
      type: "turn",
      event: this.#events.shift()?.text ?? "",
      commands: texts,
    }));
    this.#turns.push(...turns);
    await this.#options.log.append(...turns);
    if (this.#ending !== undefined || !this.#holdCommands(turns)) return;
    const lastCommands = ended.at(-1)?.commands ?? [];
    const settled = lastCommands.at(-1);
    if (settled?.kind === "settled") this.#pause();
    await this.#options.session.share.lane.work(this.#carryOutAll(ended));
    if (this.#ending === undefined && settled?.kind === "settled") await this.#settle(settled, lastCommands);
    if (this.#stopping && this.#events.length === 0) this.#decide(this.#stopping);
    this.#failIfStuck();
  }

  /** A program has settled. Others have the thread while its large value is read: nothing of it is to go on meanwhile, nor its time. */
  #pause(): void {
    this.#caughtUp = false;
    this.#clocks.wait();
  }

  /** The commands of a guest are kept until the end. What stands in events is counted where tools are called. */
  #holdCommands(turns: readonly TurnRecord[]): boolean {
    let bytes = 0;
    for (const { commands } of turns) for (const text of commands) bytes += memoryOf(text) + COMMAND_BYTES;
    const overdraft = this.#options.session.share.hold(bytes);
    if (overdraft) this.#decide({ type: "stopped", ...overdraft });
    return !overdraft;
  }

  *#carryOutAll(ended: readonly GuestTurn[]): SlicedWork<void> {
    for (const { commands } of ended) {
      const naps: Naps = { waiting: [], areArmed: false, overdueMs: -1 };
      for (const command of commands) {
        if (this.#ending !== undefined) return;
        this.#carryOut(command, commands, naps);
        yield;
      }
      naps.waiting.sort((one, other) => other.ms - one.ms || other.id - one.id);
      naps.areArmed = true;
      this.#wake(naps, naps.overdueMs);
    }
  }

  #carryOut(command: GuestFrame, turn: readonly GuestFrame[], naps: Naps): void {
    switch (command.kind) {
      case "call":
        if (!this.#stopping && turn.at(-1)?.kind !== "settled") this.#call(command);
        return;
      case "timer":
        if (this.#stopping) return;
        naps.waiting.push(command);
        this.#timers.set(
          command.id,
          setTimeout(() => this.#wake(naps, command.ms), command.ms),
        );
        return;
      case "clear":
        clearTimeout(this.#timers.get(command.id));
        this.#timers.delete(command.id);
        return;
      case "output":
        this.#print(command);
        return;
      case "unreplayable":
        this.#unreplayable = command.cause;
        return;
      default:
    }
  }

  #call({ id, tool, body }: GuestFrame & { readonly kind: "call" }): void {
    const { session, limits } = this.#options;
    // An honest guest asks once more than it may, to have that refused, and then refuses by itself.
    if (session.usage.calls > limits.calls)
      return this.#decide({ type: "stopped", limit: "calls", allowed: limits.calls, seen: session.usage.calls });
    this.#calls.set(id, tool);
    session.call({ callId: String(id), tool, caller: "programmatic", inputText: body }).then(
      (answer) => this.#answer(id, answer),
      (error: unknown) => this.#decided.reject(error),
    );
  }

  #answer(id: number, answer: Answer | undefined): void {
    if (!answer || this.#stopping || !this.#calls.delete(id)) return;
    const body = answer.ok ? answer.text : JSON.stringify(errorBody(answer));
    this.#push({ text: answerText(this.#tick(), id, answer.ok, body), closes: id });
  }

  /** Fires what is due of one turn's timers: the guest has set them all at one time, though they were armed one after the other. */
  #wake(naps: Naps, ms: number): void {
    naps.overdueMs = Math.max(naps.overdueMs, ms);
    if (!naps.areArmed) return;
    for (let next = naps.waiting.at(-1); next !== undefined && next.ms <= ms; next = naps.waiting.at(-1)) {
      naps.waiting.pop();
      clearTimeout(this.#timers.get(next.id));
      this.#fire(next.id);
    }
  }

  #fire(id: number): void {
    if (this.#timers.delete(id)) this.#push({ text: frameText({ kind: "fire", now: this.#tick(), id }), closes: id });
  }

  #print({ body, dropped }: GuestFrame & { readonly kind: "output" }): void {
    const isText = body.startsWith('"');
    if (!isText || !this.#logs.refuse(body.length)) {
      const text = isText ? parseValue(body) : undefined;
      if (typeof text !== "string")
        return this.#breakBridge("The guest sent an output frame whose body is no JSON string.");
      this.#logs.add(text, dropped);
      if (!this.#logs.overflowed) return this.#options.onOutput(text);
    }
    this.#decide({
      type: "stopped",
      limit: "logBytes",
      allowed: this.#options.limits.logBytes,
      seen: this.#logs.bytes,
    });
  }

  // ---- endings ----------------------------------------------------------------------------------------------------

  async #settle(frame: GuestFrame & { readonly kind: "settled" }, turn: readonly GuestFrame[]): Promise<void> {
    if (this.#stopping) return;
    const { limits, map, session, tools } = this.#options;
    const left = [...this.#calls.values(), ...turn.flatMap((other) => (other.kind === "call" ? [other.tool] : []))];
    const calls = session.usage.calls + turn.filter(({ kind }) => kind === "call").length;
    const { overdraft, lines, share } = session;
    const settling = settle(frame, { limits, map, tools, calls, overdraft, left, lines: [...lines], lane: share.lane });
    this.#closeCalls();
    const settlement = await settling;
    if (this.#ending !== undefined) return;
    this.#notes.push(...settlement.notes);
    if (settlement.ending.type === "crashed") this.#breakBridge(settlement.ending.detail);
    else this.#decide(settlement.ending);
  }

  #failIfStuck(): void {
    if (
      this.#ending !== undefined ||
      this.#stopping ||
      this.#events.length > 0 ||
      this.#calls.size > 0 ||
      this.#timers.size > 0
    )
      return;
    this.#decide({
      type: "failed",
      fault: {
        name: "ProgramError",
        code: "never_settles",
        message:
          "The program waits for something that cannot happen: no call and no timer is open. Look for something awaited that nothing completes.",
      },
    });
  }

  #breakBridge(detail: string): void {
    void this.#options.log.append({ type: "violation", detail, at: Date.now() });
    this.#decide({ type: "crashed", code: "bridge_broken", detail });
  }

  /** Stops the program. One that waits may print last words; one that runs is cut off. */
  #stop(ending: Ending): void {
    if (this.#ending !== undefined || this.#stopping) return;
    const link = this.#link;
    if (!link || this.#turns.length === 0 || this.#events.length > 0) return this.#decide(ending);
    this.#stopping = ending;
    // Only output is heard from here on.
    this.#closeCalls();
    this.#push({ text: frameText({ kind: "stop", now: this.#tick() }), closes: "calls" });
    setTimeout(() => this.#decide(ending), LAST_WORDS_MS);
  }

  /** The first ending counts. */
  #decide(ending: Ending): void {
    if (this.#ending !== undefined) return;
    this.#ending = ending;
    this.#closeCalls();
    this.#over.abort(OVER);
    this.#clocks.stop();
    if (ending.type === "completed" || (ending.type === "failed" && ending.fault.code !== "never_settles"))
      this.#link?.release();
    else this.#link?.guest.kill(ending.type);
    this.#noteMemory();
    this.#decided.resolve(ending);
  }

  /** Nothing that the program has begun goes on from here. */
  #closeCalls(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#options.session.close();
  }

  // ---- events -----------------------------------------------------------------------------------------------------

  #push(event: GuestEvent): void {
    if (this.#ending !== undefined) return;
    this.#events.push(event);
    if (this.#unsent.push(event) === 1 && this.#caughtUp) queueMicrotask(() => this.#flush());
  }

  #flush(): void {
    if (!this.#link || !this.#caughtUp || this.#unsent.length === 0 || this.#ending !== undefined) return;
    this.#clocks.run();
    let length = 0;
    const over = this.#unsent.findIndex(({ text }) => (length += text.length) > FLUSH_LENGTH);
    const sent = over < 0 ? this.#unsent : this.#unsent.slice(0, over + 1);
    this.#unsent = over < 0 ? [] : this.#unsent.slice(over + 1);
    this.#link.send(sent);
    if (this.#unsent.length > 0) setImmediate(() => this.#flush());
  }

  /** The time that an event carries: the guest's clock, which never runs backwards. */
  #tick(): number {
    this.#now = Math.max(this.#now, Date.now());
    return this.#now;
  }

  /** Told by the sandbox, and by nobody within it. */
  #noteConnection(connection: Connection): void {
    const { count, bytesUp, bytesDown } = this.#connections;
    this.#connections = {
      count: count + 1,
      bytesUp: bytesUp + connection.bytesUp,
      bytesDown: bytesDown + connection.bytesDown,
    };
    this.#unreplayable ??= "network";
    void this.#options.log.append({ type: "egress", ...connection, at: Date.now() });
  }

  #noteMemory(): void {
    const { peakMemoryBytes } = this.#link?.guest.usage() ?? { peakMemoryBytes: 0 };
    this.#peakMemoryBytes = Math.max(this.#peakMemoryBytes, peakMemoryBytes);
  }
}

/** Made once, because an error takes longer to make than a short program to run. */
const OVER = new Error("The execution has ended.");

function errorBody({ code, tool, message }: Answer & { readonly ok: false }): ErrorBody {
  return { code, tool, message };
}

function detailOf(end: LinkEnd): string {
  if ("detail" in end) return end.detail;
  return end.type === "killed" ? end.reason : end.type;
}
