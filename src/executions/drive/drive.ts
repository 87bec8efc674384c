/*
 * The loop of one program. Answers and timers go to the guest as events; the commands of its turns come back, are
 * journalled and carried out. What the program ended with goes out, or what it waits for.
 */
import { ignore, now, type SlicedWork } from "../../base/index.ts";
import type { GuestFrame } from "../../../bridge/frames.ts";
import type { GuestTurn } from "../../../bridge/turn-reader.ts";
import type { GateSession } from "../../gate/session.ts";
import { leavesOpen } from "../../journal/execution-log.ts";
import type { CallSpans } from "../../gate/telemetry/telemetry.ts";
import type { Tool } from "../../tools/tool.ts";
import { isAnswered } from "../from-journal/call-history.ts";
import type { ProgramCheck } from "../check/check-program.ts";
import { Clocks } from "./limit-clocks.ts";
import {
  DIED_STOPPING,
  endingByOutput,
  endingCancelled,
  endingUnreplayable,
  keptNote,
  NEVER_SETTLES,
} from "./ending/endings.ts";
import { eventQueue, type EventQueue } from "./event-queue.ts";
import { firstEnding } from "./ending/first-ending.ts";
import { type ExecutionState, type Usage, usedBy } from "../from-journal/execution-state.ts";
import { fireEvent, type GuestEvent, startEvent, stopEvent } from "../guest/guest-event.ts";
import type { DriveResult } from "../execution.ts";
import { GuestSupervisor } from "../guest/guest-supervisor.ts";
import { heldTurns, type HeldTurns } from "./held-turns.ts";
import { logCollector, type LogCollector } from "./log-collector.ts";
import { approveProgram, callsOf, type ProgramCalls } from "./program-calls.ts";
import type { Ending, Unreplayable, Waiting } from "../outcome.ts";
import type { Earlier } from "../from-journal/earlier-execution.ts";
import type { Past } from "../from-journal/past-execution.ts";
import type { Scope } from "../scope.ts";
import type { ResultSchema } from "./ending/result-schema.ts";
import { settle } from "./ending/settlement.ts";
import type { SourceMap } from "../guest/source-map.ts";
import { Timers } from "./program-timers.ts";
import { standingOf, waitingIn } from "../from-journal/standing.ts";
import type { TrackedLog } from "../from-journal/tracked-log.ts";

/** Time for final output when a program is stopped while it waits, in milliseconds. */
const FINAL_OUTPUT_MS = 100;
/** Time for another guest for an evicted program that is stopped, and for its replay, in milliseconds. */
const FINAL_GUEST_MS = 1000;

/** A prepared program, and what its drivers need beside its log. */
export interface Work {
  /** The span in which it is driven; undefined if nothing records. */
  readonly spans: CallSpans | undefined;
  readonly map: SourceMap;
  readonly program: string;
  readonly tools: readonly Tool[];
  readonly result?: ResultSchema | undefined;
  readonly past?: Past;
  readonly earlier?: Earlier | undefined;
  readonly check?: ProgramCheck | undefined;
}

/** Usage as a turn notes it: short, because there may be many turns. */
function rounded(usage: Usage): Readonly<Record<string, number>> {
  const noted: Record<string, number> = {};
  for (const name of Object.keys(usage) as (keyof Usage)[]) {
    const value = Math.round(usage[name]);
    if (value > 0) noted[name] = value;
  }
  return noted;
}

/** Keeps a rejection from ending the process before the promise is awaited. */
function ignoreUntilAwaited(promise: Promise<unknown> | undefined): void {
  promise?.catch(ignore);
}

/**
 * Drives one program from its start to its ending: sends it events, journals its turns, carries out its commands. Open
 * calls and past turns are in the log's state. The fields here are those that a new driver would not need.
 */
export class Driver {
  readonly #scope: Scope;
  readonly #log: TrackedLog;
  readonly #session: GateSession;
  readonly #work: Work;
  readonly #before: Usage;
  readonly #clocks: Clocks;
  readonly #guests: GuestSupervisor;
  readonly #events: EventQueue;
  readonly #timers: Timers;
  readonly #calls: ProgramCalls;
  readonly #logs: LogCollector;
  readonly #held: HeldTurns;
  /** For the report, and what the program has printed since it was last shown. */
  readonly #words: Record<"notes" | "remarks" | "printed", string[]> = { notes: [], remarks: [], printed: [] };
  readonly #end = firstEnding();
  /** Whether turns are journalled and carried out just now. */
  #isTaking = false;
  /** Ids of the calls for which a program that cannot be replayed was kept in its sandbox. */
  #keptFor: string | undefined;

  constructor(scope: Scope, log: TrackedLog, session: GateSession, work: Work) {
    const { limits } = scope;
    this.#scope = scope;
    this.#log = log;
    this.#session = session;
    this.#work = work;
    this.#before = usedBy(log.state);
    this.#held = heldTurns(session.share, log.isDurable);
    this.#logs = work.past?.logs ?? logCollector(limits);
    this.#clocks = new Clocks(
      limits,
      ({ limit, allowed, seen }) => {
        if (limit === "replays") this.#guests.endReplays();
        else this.#stop({ type: "stopped", limit, allowed, seen });
      },
      {
        processorMs: () => this.#guests.processorMs,
        waitsForApproval: () => session.waitsForApproval,
        waitsForStore: () => log.isWriting,
        isListening: () => this.#guests.isListening,
      },
      this.#before,
    );
    session.onWaiting = () => this.#waitIfIdle();
    log.onFenced = (error) => this.#giveUp(error);
    session.isOwnerIdle = () => this.#events.isEmpty && !this.#clocks.isRunning && this.#state.timers.size === 0;
    const { share } = session;
    const onEnding = (ending: Ending) => this.#endWith(ending);
    const onFailure = (error: unknown) => this.#end.fail(error);
    const hasWork = () => !this.#events.isEmpty;
    const clocks = this.#clocks;
    const asked = { hasWork, onEnding, onFailure };
    this.#guests = new GuestSupervisor({ scope, log, clocks, share, ...asked });
    this.#events = eventQueue((events) => this.#guests.send(events));
    const push = (event: GuestEvent) => {
      work.check?.saw(event.text);
      this.#push(event);
    };
    const now = () => this.#now();
    this.#timers = new Timers(this.#state.timers, (id) => push(fireEvent(now(), id)));
    this.#calls = callsOf({ scope, log, session, end: this.#end, push, now });
  }

  get #state(): ExecutionState {
    return this.#log.state;
  }

  /** Rejects only if the journal does, or if the sandbox cannot open a guest. */
  async run(): Promise<DriveResult> {
    const { signal } = this.#scope;
    const onAbort = () =>
      leavesOpen(signal.reason) ? this.#giveUp(signal.reason) : this.#stop(endingCancelled(signal.reason));
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    const driving = this.#driveGuests();
    // After the ending is decided, a failure to open a guest has no effect.
    driving.catch(ignore);
    try {
      await Promise.race([this.#end.ending, driving]);
    } finally {
      signal.removeEventListener("abort", onAbort);
      this.#endWith({ type: "cancelled" });
      this.#work.check?.end();
      await this.#guests[Symbol.asyncDispose]();
    }
    const { turns, restarts, unreplayable, used } = this.#state;
    const { connections, seenBytes } = used;
    const { notEvicted } = this.#guests;
    const { logs, printed } = this.#logs.shown;
    const { notes, remarks } = this.#words;
    const ending = await this.#end.ending;
    // A program that was cancelled while it waited for its approval has not come so far.
    this.#noteApprovalWait();
    const counts = { turns, restarts, notEvicted, unreplayable };
    notes.push(...(this.#work.check?.notes ?? []));
    return { ending, logs, printed, notes, remarks, ...counts, ...this.#usage, connections, seenBytes };
  }

  /** What a program that has not begun has used is the wait for its approval. */
  #noteApprovalWait(): void {
    if (this.#state.turns === 0) Object.assign(this.#before, usedBy(this.#state));
  }

  get #usage(): Usage {
    const { cpuMs, wallMs, approvalMs } = this.#clocks;
    const queuedMs = this.#before.queuedMs + this.#guests.queued.ms;
    const peakMemoryBytes = Math.max(this.#before.peakMemoryBytes, this.#guests.peakMemoryBytes);
    const evictions = this.#before.evictions + this.#guests.evictions;
    return { queuedMs, cpuMs, wallMs, approvalMs, peakMemoryBytes, evictions };
  }

  async #driveGuests(): Promise<void> {
    const { end, turns, unreplayable } = this.#state;
    const { past, program, tools } = this.#work;
    // A host that leaves its executions open leaves the approval open, too.
    if (this.#end.isDecided) return;
    const unapproved = await approveProgram(this.#state, this.#session, this.#scope.limits);
    this.#noteApprovalWait();
    if (unapproved) return this.#endWith(unapproved);
    if (past) {
      const hasEnded = end.settled !== undefined || unreplayable !== undefined;
      const orphans = hasEnded ? this.#state.calls.values().filter((call) => !isAnswered(call)) : [];
      for (const call of orphans) this.#calls.noteUnmade(call);
      if (end.settled) return this.#settle(end.settled, []);
      if (end.stopped) return this.#endWith(DIED_STOPPING);
      if (unreplayable !== undefined) return this.#endWith(endingUnreplayable(unreplayable));
    }
    let hasLeftOpen = past !== undefined && turns > 0;
    while (await this.#guests.open()) {
      if (this.#state.turns === 0 && this.#events.isEmpty)
        this.#push(startEvent(this.#now(), program, tools, this.#scope));
      this.#events.open();
      if (this.#end.stopping) this.#endSoon(this.#end.stopping, FINAL_OUTPUT_MS);
      if (hasLeftOpen) this.#continueOpen();
      hasLeftOpen = false;
      this.#offerGuest();
      for (;;) {
        const ended = await this.#guests.nextTurns();
        if (!ended || this.#end.isDecided) break;
        await this.#take(ended);
      }
      this.#events.close();
      if (this.#end.stopping && this.#guests.isEvicted) this.#endSoon(this.#end.stopping, FINAL_GUEST_MS);
    }
  }

  #continueOpen(): void {
    this.#timers.beginTurn();
    this.#timers.continue(this.#state.timers.values());
    this.#calls.continueOpen();
    this.#timers.endTurn();
    if (this.#isStuck()) this.#endWith(NEVER_SETTLES);
  }

  /** Ends the driving if the program, and everything that it has begun, waits for decisions or results from outside. */
  #waitIfIdle(): void {
    if (this.#end.isKnown || this.#isTaking) return;
    if (!this.#events.isEmpty || this.#clocks.isRunning) return;
    if (!this.#session.waitsOutside) return;
    const waiting = waitingIn(standingOf(this.#state, true), this.#state);
    if (!waiting) return;
    const { unreplayable } = this.#state;
    if (unreplayable === undefined) this.#endWith(waiting);
    else this.#keepWaiting(waiting, unreplayable);
  }

  /** Lets another program have the guest, if this one waits. */
  #offerGuest(): void {
    if (this.#end.isKnown) return;
    if (this.#events.isEmpty && !this.#clocks.isRunning && this.#state.turns > 0) this.#guests.offer();
  }

  /** A program that cannot be replayed waits in its sandbox. Tells so once for the same calls. */
  #keepWaiting(waiting: Waiting, cause: Unreplayable): void {
    const listed = [...waiting.approvals, ...waiting.calls].map(({ callId }) => callId);
    const calls = `${listed.join(" ")} ${waiting.more ?? 0}`;
    if (calls === this.#keptFor) return;
    if (this.#keptFor === undefined) this.#words.notes.push(keptNote(cause));
    this.#keptFor = calls;
    const { execution } = this.#log;
    this.#scope.onEvent({ type: "execution_waiting", execution, waiting, held: cause });
  }

  /**
   * Journals turns together with what the gate decides about their calls, in one append. The gate starts no handler and
   * asks no approver before that append, and everything else that the turns want is done after it.
   */
  async #take(ended: readonly GuestTurn[]): Promise<void> {
    const log = this.#log;
    const { lane } = this.#session.share;
    this.#isTaking = true;
    const { check } = this.#work;
    if (check?.isJudged === false && ended.some(({ commands }) => commands.some(({ kind }) => kind === "call")))
      await this.#check();
    if (this.#end.isDecided) return;
    const begun = ended.map((turn) => [this.#events.shift(), turn] as const);
    const applying = lane.work(log.applyTurns(begun, rounded(this.#usage)));
    log.deferTurns(applying instanceof Promise ? await applying : applying);
    this.#guests.giveBackTurns();
    const holding = lane.work(this.#held.take(begun));
    const overdraft = holding instanceof Promise ? await holding : holding;
    if (overdraft) this.#endWith({ type: "stopped", ...overdraft });
    // The outcome's append writes the turns.
    if (this.#end.isDecided) return;
    const lastCommands = ended.at(-1)?.commands ?? [];
    const settled = lastCommands.at(-1);
    // Nothing follows from such a turn but the ending. With redaction the turn is written first: that tells whether it lost something.
    const isWrittenByOutcome =
      ended.length === 1 && lastCommands.length === 1 && settled?.kind === "settled" && !this.#scope.redactor;
    let carriedOut: Promise<void> | undefined;
    let isSliced = false;
    // Begun just before the calls: what the gate decides at once is in the same append, and what a turn prints is shown
    // before its handlers start.
    const begin = () => {
      const goOn = () => {
        if (!isWrittenByOutcome) this.#held.noteStored(begun, this.#session);
        this.#showPrinted();
        if (settled?.kind === "settled") {
          // While its value is read in slices, no event is sent and its time does not count.
          this.#events.close();
          this.#clocks.wait();
        }
        return lane.work(this.#carryOutAll(ended));
      };
      carriedOut = isWrittenByOutcome ? Promise.resolve(goOn()) : log.flush(goOn);
      if (isSliced) ignoreUntilAwaited(carriedOut);
    };
    const calling = lane.work(this.#callAll(ended, begin));
    if (calling instanceof Promise) {
      isSliced = true;
      ignoreUntilAwaited(carriedOut);
      await calling;
    }
    await carriedOut;
    this.#showPrinted();
    if (!this.#end.isDecided && settled?.kind === "settled") await this.#settle(settled, lastCommands);
    if (this.#end.stopping && this.#events.isEmpty) this.#endWith(this.#end.stopping);
    if (this.#isStuck()) this.#endWith(NEVER_SETTLES);
    this.#isTaking = false;
    this.#waitIfIdle();
    this.#offerGuest();
  }

  /** The first call waits for the check of the program, which may end it, or say more of a failure at this line before it. */
  async #check(failedAt?: number): Promise<void> {
    const { check } = this.#work;
    if (check?.isJudged !== false) return;
    const { fault, ...checked } = await check.judge();
    if (this.#end.isDecided) return;
    if (failedAt !== undefined && (fault?.line !== failedAt || checked.findings === 1)) return;
    this.#scope.onEvent({ type: "program_checked", execution: this.#log.execution, ...checked });
    if (fault) this.#endWith({ type: "failed", fault });
  }

  /** Passes the calls of turns to the gate, and reads what they print. What a program calls as it settles goes no further. */
  *#callAll(ended: readonly GuestTurn[], begin: () => void): SlicedWork<void> {
    begin();
    for (const { commands, texts, sizes, settled } of ended) {
      for (const [index, command] of commands.entries()) {
        if (this.#end.isDecided) return;
        if (command.kind === "output") this.#print(command);
        else if (command.kind === "call" && !this.#end.stopping) {
          const isAscii = sizes[index] === texts[index]?.length;
          if (settled) this.#calls.noteUnmade(command);
          else this.#call(command, isAscii ? command.body.length : undefined);
        } else if (command.kind === "cancel") this.#session.noteLeft(String(command.id));
        yield;
      }
    }
  }

  *#carryOutAll(ended: readonly GuestTurn[]): SlicedWork<void> {
    for (const { commands } of ended) {
      this.#timers.beginTurn();
      for (const command of commands) {
        if (this.#end.isDecided) return;
        if (command.kind === "clear") this.#timers.noteCleared();
        else if (command.kind === "next") this.#session.more(String(command.id));
        else if (command.kind === "cancel") this.#calls.stopReading(command.id);
        else if (command.kind === "timer" && !this.#end.stopping) this.#timers.set(command);
        yield;
      }
      this.#timers.endTurn();
    }
  }

  /** `inputBytes` is what the body takes in UTF-8, if that is known. */
  #call(frame: GuestFrame & { readonly kind: "call" }, inputBytes?: number): void {
    const { calls: allowed } = this.#scope.limits;
    const { calls: seen } = this.#session.usage;
    // An honest guest sends one call over the limit, which the gate refuses, and then refuses further calls itself.
    if (seen > allowed) return this.#endWith({ type: "stopped", limit: "calls", allowed, seen });
    this.#calls.begin(frame, inputBytes);
  }

  #print(frame: GuestFrame & { readonly kind: "output" }): void {
    const printed = this.#logs.take(frame);
    if (printed.type === "text") this.#words.printed.push(printed.text);
    else this.#endWith(endingByOutput(printed.type, this.#scope.limits.printedBytes, this.#logs.bytes));
  }

  #showPrinted(): void {
    const { execution } = this.#log;
    for (const text of this.#words.printed.splice(0)) this.#scope.onEvent({ type: "output", execution, text });
  }

  async #settle(frame: GuestFrame & { readonly kind: "settled" }, turn: readonly GuestFrame[]): Promise<void> {
    if (this.#end.stopping) return;
    const { limits, gate } = this.#scope;
    const { map, result } = this.#work;
    const { overdraft, ledger, share, usage } = this.#session;
    const calls = usage.calls + turn.filter(({ kind }) => kind === "call").length;
    const settling = settle(frame, {
      limits,
      map,
      tools: gate.tools,
      calls,
      overdraft,
      openCalls: this.#calls.listOpen(),
      lines: [...ledger.lines],
      inputs: ledger.inputs,
      lane: share.lane,
      result,
    });
    this.#closeCalls();
    const settlement = await settling;
    if (settlement.ending.type === "failed") await this.#check(settlement.ending.fault.line ?? 0);
    if (this.#end.isDecided) return;
    this.#words.notes.push(...settlement.notes);
    this.#words.remarks.push(...settlement.remarks);
    this.#endWith(settlement.ending);
  }

  #isStuck(): boolean {
    const { calls, timers } = this.#state;
    return !this.#end.isKnown && this.#events.isEmpty && calls.size === 0 && timers.size === 0;
  }

  /** Another driver has taken over the execution, or the conversation it belongs to, or will take it up. */
  #giveUp(error: unknown): void {
    this.#end.fail(error);
    // The open calls belong to the other driver now, and so do the conversations of agents that work on them.
    this.#session.suspend(error instanceof Error ? error : undefined);
    this.#endWith({ type: "cancelled" });
  }

  /** Stops the program. A waiting program may still print; a running one is ended at once. */
  #stop(ending: Ending): void {
    if (this.#end.isKnown) return;
    if (this.#state.turns === 0 || !this.#events.isEmpty) return this.#endWith(ending);
    this.#end.stopping = ending;
    this.#guests.endReplacing();
    // From here on only output commands are carried out.
    this.#closeCalls();
    this.#push(stopEvent(this.#now()));
    this.#endSoon(ending, this.#guests.isEvicted ? FINAL_GUEST_MS : FINAL_OUTPUT_MS);
  }

  #endSoon(ending: Ending, ms: number): void {
    this.#end.after(ms, () => this.#endWith(ending));
  }

  /** The first ending counts. During final output that is the ending the stop was for. */
  #endWith(latest: Ending): void {
    const ending = this.#end.decide(latest);
    if (!ending) return;
    this.#timers.clearAll();
    if (ending.type === "waiting") this.#session.suspend();
    else this.#session.close();
    this.#events.close();
    this.#clocks.stop();
    this.#guests.end(ending);
    if (latest.type === "crashed" && latest.code === "bridge_broken")
      void this.#log.append({ type: "violation", detail: latest.detail, at: now() });
    this.#end.tell(ending);
  }

  #closeCalls(): void {
    this.#timers.clearAll();
    this.#session.close();
  }

  #push(event: GuestEvent): void {
    if (this.#end.isDecided) return;
    this.#events.push(event);
    this.#guests.wake();
  }

  /** The guest's clock, as the next event carries it. It never runs backwards. */
  #now(): number {
    return Math.max(this.#state.now, this.#events.now, now());
  }
}
