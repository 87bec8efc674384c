/*
 * What happens to a call that may be made, until its handler runs: approval, or the result of a client. An open call
 * comes in, with the records of it if another driver has left it open; its answer goes out. Before it: `session.ts` and
 * `admit/admission.ts`. After it: the queue of handlers (`queues/`), `run/call-runner.ts`, and `open-calls.ts`, which gives the one answer.
 */
import { ignore, PortcullisError, type SlicedWork } from "../base/index.ts";
import type { DecisionRecord } from "../journal/record.ts";
import type { AllowedQuestion } from "../tools/tool.ts";
import type { Answer } from "./answer.ts";
import { earlierOf, type GateLog, isOfSurface } from "./call-ledger.ts";
import { type EarlierCall, isAnsweredEarlier } from "./reuse/earlier-calls.ts";
import { standInsOf, type StandIns } from "./reuse/stand-ins.ts";
import { approvalAbout, askApproval, detailsOf } from "./approve/approval.ts";
import { askQuestion, mayBeHeld, ruleOn, type Rules } from "./approve/rule-on.ts";
import type { CallRunner, RunnerParts } from "./run/call-runner.ts";
import type { Arrival, OutsideRecord } from "./approve/call-waits.ts";
import type { WorkScope } from "./work-scope.ts";
import type { OpenCall, PastCall } from "./open-call.ts";
import type { RememberedDecisions } from "./approve/remembered.ts";
import * as sentences from "./sentences.ts";
import { streamEnded } from "./streams/stream-reader.ts";

/** The decision about a call comes from outside, later. */
const LATER = Symbol("later");
const NEEDS_APPROVAL = Symbol("needs approval");
const EFFECT_READ = Symbol("effect read");
/** Code of the record by which a call is held whose driver died while its handler ran. */
const OUTCOME_UNKNOWN = "outcome_unknown";
/** The client would be given another input than the caller has sent. */
const REDACTED = "secrets are taken out of what its client is given. Call it without them";
/** Decisions about a call whose input was read. */
const SHOWN: ReadonlySet<string> = new Set(["held", "client", "allowed"]);

export interface StepsParts extends Omit<RunnerParts, "contextOf">, Rules {
  readonly scope: WorkScope;
  readonly runner: CallRunner;
  readonly remembered: RememberedDecisions;
  /** Whether a call may wait for decisions and results from outside this process; false by default. */
  readonly canWait?: boolean;
  /** If it outlives the process, a call whose approver fails can be decided by others. */
  readonly log: Pick<GateLog, "isDurable">;
  /** Called with the id of a call that begins to wait for a decision or a result from outside, and for nothing else. */
  readonly onWaiting: (callId: string) => void;
}

/**
 * The steps of a call between its admission and its handler: whether it needs approval, who decides or answers, how long
 * it waits for that, and what follows. A call that another driver has left open begins at the step that its journal says.
 */
export class CallSteps {
  readonly #parts: StepsParts;
  readonly #standIns: StandIns | undefined;

  constructor(parts: StepsParts) {
    this.#parts = parts;
    const { earlier } = parts;
    this.#standIns = earlier && standInsOf({ ...parts, earlier });
  }

  /** Continues a call at the step that its journal records, or begins it. Resolves with undefined if the call ends first. */
  goOn(call: OpenCall, past: PastCall): Promise<Answer | undefined> {
    const { admission, calls, earlier } = this.#parts;
    const { ruling, converted, decision, result, retried, streamed } = past;
    const wasShown = ruling && SHOWN.has(ruling.decision);
    const shown = { converted, digest: ruling?.inputDigest };
    const refused = wasShown || converted !== undefined ? admission.show(call, shown, true) : undefined;
    if (refused) return calls.refuse(call, refused);
    if (ruling?.earlier) call.ruling.earlier = earlier?.find(ruling.earlier);
    if (streamed) call.handling.streamed = streamed;
    if (retried) call.handling.attempt = retried.attempt + 1;
    const { callId } = call.identity;
    if (decision?.allow) call.ruling.approval = { type: "approved", ...detailsOf(decision) };
    switch (ruling?.decision) {
      case "held":
        call.ruling.approval = { type: "held" };
        call.ruling.policy = ruling.policy;
        call.ruling.isUnknown = ruling.code === OUTCOME_UNKNOWN;
        calls.waits.hold(callId, ruling.at);
        if (decision) return this.#obey(call, decision, ruling.code);
        if (ruling.code === OUTCOME_UNKNOWN) return this.#waitOutside(call, ruling.code);
        return this.#goOnHeld(call);
      case "client":
        calls.waits.hold(callId, ruling.at);
        return result ? this.#obey(call, result) : this.#waitOutside(call);
      case "reused":
        return this.#answerAlike(call, call.ruling.earlier);
      case "allowed":
        call.ruling.effectBefore = ruling.effect ?? call.tool.effect;
        return this.#completeStream(call, past) ?? this.#repeat(call);
      case "refused":
        // The program has not been told yet. What was decided, or not in time, holds.
        if (decision?.allow === false) return this.#obey(call, decision);
        if (ruling.code === "policy_denied") return this.#refuseByPolicy(call, ruling.policy ?? "");
        if (ruling.code === "approval_expired") call.ruling.approval = { type: "held" };
        return call.ruling.approval ? this.#expired(call) : this.#begin(call);
      default:
        return this.#begin(call);
    }
  }

  /** Goes on with a call that waits for a decision, one slice of the thread for each: there may be thousands. */
  async #goOnHeld(call: OpenCall): Promise<Answer | undefined> {
    const { calls, scope, share } = this.#parts;
    return share.lane.run(() => {
      if (calls.isGone(call)) return undefined;
      return this.#decideAlike(call) ?? (scope.approve ? this.#askAndRun(call) : this.#waitOutside(call));
    });
  }

  #begin(call: OpenCall): Promise<Answer | undefined> {
    return this.#standIns?.mayHave(call) ? this.#withStandIn(call, this.#standIns) : this.#beginAnew(call);
  }

  /** Answers a call as an equal call of an earlier execution was, or goes on with what is known of that call. */
  async #withStandIn(call: OpenCall, standIns: StandIns): Promise<Answer | undefined> {
    const found = await standIns.find(call);
    if (this.#parts.calls.isGone(call)) return undefined;
    if (!found) return this.#beginAnew(call);
    if ("ok" in found) return found;
    call.ruling.earlier = found;
    if (found.answer) return this.#answerAlike(call, found);
    // Also of a tool that may be run again: the new call has another idempotency key, and an agent's starts another conversation.
    return this.#decideUnknown(call);
  }

  async #answerAlike(call: OpenCall, found: EarlierCall | undefined): Promise<Answer | undefined> {
    const { earlier, runner } = this.#parts;
    if (earlier && found && isAnsweredEarlier(found)) return runner.reuse(call, found, earlier.reader);
    throw new PortcullisError(
      "journal_invalid",
      `The journal does not hold the call whose answer call ${call.identity.callId} was to be given. Restore the journal from a backup.`,
    );
  }

  #beginAnew(call: OpenCall): Promise<Answer | undefined> {
    return mayBeHeld(call, this.#parts) ? this.#approveAndRun(call) : this.#run(call);
  }

  #run(call: OpenCall, read?: { readonly input: unknown }): Promise<Answer | undefined> {
    const { runner } = this.#parts;
    return call.tool.execute === "client"
      ? runner.withInput(call, () => this.#askClient(call))
      : runner.runAtItsTurn(call, read);
  }

  /**
   * Runs a call that may need approval. Its input is parsed for that check, and parsed again when its approval is
   * requested, so that waiting calls hold only their text. Calls that need no approval do not wait for calls that do.
   */
  async #approveAndRun(call: OpenCall): Promise<Answer | undefined> {
    const { calls, admission, ledger, queues, remembered, runner, scope } = this.#parts;
    const checked = await queues.run("checks", () =>
      runner.withInput(call, async (input) => {
        const ruled = await ruleOn(call, input, this.#parts);
        if (ruled.type === "deny") return this.#refuseByPolicy(call, ruled.reason);
        if (ruled.type === "none") return calls.refuse(call, sentences.policyUnavailable(call), ruled.error);
        // The tool's own rule may have changed what it was given.
        if (ruled.type === "allow") return this.#run(call, call.tool.approvable ? undefined : { input });
        call.ruling.policy = ruled.reason;
        return NEEDS_APPROVAL;
      }),
    );
    if (checked !== NEEDS_APPROVAL) return checked;
    admission.giveBackInput(call);

    if (calls.isGone(call)) return undefined;
    const { identity, inputDigest, tool } = call;
    const { policy } = call.ruling;
    const isKnown =
      remembered.of(tool, inputDigest) !== undefined || remembered.grants.fits(tool, identity.callId, call.shownText);
    if (!isKnown && !scope.approve)
      return calls.refuse(
        call,
        sentences.approvalUnavailable(tool.name),
        new PortcullisError(
          "option_invalid",
          `${tool.name} needs approval for this call, and there is no \`approve\`: pass one to createRuntime, or to execute, agent, call or asTool; or define the tool with approval: "never".`,
        ),
      );
    call.ruling.approval = { type: "held" };
    calls.waits.hold(identity.callId);
    const facts = { decision: "held", policy, earlier: earlierOf(call.ruling) } as const;
    const held = ledger.noteDecision(identity, facts, call);
    if (!isKnown) await held;
    if (calls.isGone(call)) return undefined;
    return this.#decideAlike(call) ?? this.#askAndRun(call);
  }

  #refuseByPolicy(call: OpenCall, reason: string): Promise<Answer | undefined> {
    call.ruling.policy = reason;
    return this.#parts.calls.refuse(call, sentences.policyDenied(call, reason));
  }

  ask(call: OpenCall, question: unknown): Promise<AllowedQuestion | false> {
    return askQuestion(call, question, this.#parts);
  }

  /** A call whose decision comes later leaves the queue of approvals. */
  async #askAndRun(call: OpenCall): Promise<Answer | undefined> {
    const { queues, runner } = this.#parts;
    const asked = await queues.run("approvals", () =>
      runner.withInput(call, (input) => this.#decideAndRun(call, input)),
    );
    return asked === LATER ? this.#waitOutside(call) : asked;
  }

  async #decideAndRun(call: OpenCall, input: unknown): Promise<Answer | undefined | typeof LATER> {
    const { calls, canWait, execution, inContext, log, ledger, remembered, scope } = this.#parts;
    if (calls.isGone(call)) return undefined;
    // While the call waited to be asked about, an equal call may have been decided.
    const alike = this.#decideAlike(call);
    if (alike) return alike;
    const { identity, inputDigest } = call;
    const { policy } = call.ruling;
    const grants = remembered.grants.leftFor(call.tool);
    const grantsLeft = remembered.grants.room;
    const about = { policy, grants: grants.length > 0 ? grants : undefined, grantsLeft };
    const request = { ...approvalAbout(call, execution, scope), ...about, ...call.shownInput(), inputDigest };
    const asked = inContext(() => askApproval(scope.approve, request, (id) => remembered.grants.takePlace(id)));
    const answer = await Promise.race([asked, calls.waits.arrivalOf(identity.callId) ?? asked]);
    if (calls.isGone(call)) return undefined;
    // A decision from outside came first, or the time is over.
    if ("type" in answer) return this.#follow(call, answer);
    const { approval } = answer;
    if (approval === "none" && canWait && log.isDurable) ledger.undecided(identity, answer.error);
    else if (approval === "none") return calls.refuse(call, sentences.approvalUnavailable(call), answer.error);
    if (approval === "later" || approval === "none") {
      if (canWait) return LATER;
      return calls.refuse(call, sentences.approvalUnavailable(call), sentences.cannotWait(call.tool.name));
    }
    calls.waits.release(identity.callId);
    const { record, done } = ledger.approved(identity, approval);
    await done;
    // A record from outside that came by now is in the journal before this decision, and the first record holds.
    const first = calls.waits.arrived(identity.callId);
    if (first) {
      remembered.grants.givePlaceBack(identity.callId);
      return this.#follow(call, first);
    }
    await this.#keep(call, record);
    return this.#carryOut(call, record, { read: { input }, error: answer.error });
  }

  /** Does what was decided about a call that needs approval. The journal holds the decision, or will before it holds anything else. */
  #carryOut(
    call: OpenCall,
    decision: DecisionRecord,
    { read, error }: { readonly read?: { readonly input: unknown }; readonly error?: unknown } = {},
  ): Promise<Answer | undefined> {
    const { allow, note } = decision;
    call.ruling.approval = { type: allow ? "approved" : "denied", ...detailsOf(decision) };
    return allow ? this.#run(call, read) : this.#parts.calls.refuse(call, sentences.approvalDenied(call, note), error);
  }

  /** Decides a held call as a remembered decision says; undefined without one. */
  #decideAlike(call: OpenCall): Promise<Answer | undefined> | undefined {
    const { calls, ledger, remembered } = this.#parts;
    const { identity, inputDigest, tool } = call;
    const first = calls.waits.arrived(identity.callId);
    if (first) return this.#follow(call, first);
    const decision = remembered.of(tool, inputDigest);
    if (!decision) return remembered.grants.take(call, ledger)?.then((record) => this.#unlessFirst(call, record));
    const { by, note } = detailsOf(decision);
    const approval = { type: decision.allow ? "approved" : "denied", by, note } as const;
    const { record, done } = ledger.approved(identity, approval, { remembered: decision.call });
    return done.then(() => this.#unlessFirst(call, record));
  }

  /** Does what a decision says that is in the journal, unless a record from outside came before it: the first record holds. */
  async #unlessFirst(call: OpenCall, record: DecisionRecord): Promise<Answer | undefined> {
    const { waits } = this.#parts.calls;
    const { callId } = call.identity;
    if (this.#parts.calls.isGone(call)) return undefined;
    const first = waits.arrived(callId);
    waits.release(callId);
    return first ? this.#follow(call, first) : this.#carryOut(call, record);
  }

  /**
   * Keeps a decision that also holds for other calls. A grant lets calls through that wait by now, one slice of the thread for
   * each. The call that was decided goes on after them, so that the execution does not rest meanwhile.
   */
  #keep({ tool, inputDigest }: OpenCall, decision: DecisionRecord): void | Promise<void> {
    const { remembered, share } = this.#parts;
    remembered.decide(tool, inputDigest, decision);
    return decision.grant && share.lane.work(this.#letThrough(tool.name, decision.call));
  }

  *#letThrough(tool: string, originId: string): SlicedWork<void> {
    const { calls, ledger, remembered } = this.#parts;
    for (const held of calls.waits.heldOf(tool)) {
      const { callId } = held.identity;
      const isHeld = held.ruling.approval?.type === "held" && !held.ruling.isUnknown && !calls.isGone(held);
      if (callId === originId || !isHeld || calls.waits.arrived(callId)) continue;
      // If the journal fails here, it also refuses the records that follow, and the call rejects with that.
      remembered.grants.take(held, ledger)?.then((record) => calls.waits.take(record), ignore);
      yield;
    }
  }

  /** Asks a client for a call's result. The client answers from outside this process. */
  async #askClient(call: OpenCall): Promise<Answer | undefined> {
    const { calls, canWait, earlier, ledger, scope } = this.#parts;
    const { identity, shownText, tool } = call;
    // The gateway asks for a program's call with what the program's driver holds. Others are told of calls from the journal,
    // where a model's input is JSON inside a JSON text: both forms are looked at.
    const isToldByDriver = isOfSurface(scope) && identity.caller === "programmatic";
    for (const text of scope.redactor && !isToldByDriver ? [shownText, JSON.stringify(shownText)] : [])
      if (await scope.redactor?.changes(text)) return calls.refuse(call, sentences.inputInvalid(call, tool, REDACTED));
    if (calls.isGone(call)) return undefined;
    earlier?.noteMade(call.ruling.effect);
    if (!canWait) return calls.fail(call, sentences.handlerFailed(tool.name, "", ""), sentences.cannotWait(tool.name));
    call.ruling.isRecorded = true;
    calls.waits.hold(identity.callId);
    await ledger.noteDecision(identity, { decision: "client" }, call);
    if (calls.isGone(call)) return undefined;
    ledger.started(identity, tool);
    return this.#waitOutside(call);
  }

  /** `code` is the code of the record by which the call is held. */
  async #waitOutside(call: OpenCall, code?: string): Promise<Answer | undefined> {
    const { calls, admission, onWaiting } = this.#parts;
    const { callId } = call.identity;
    admission.giveBackInput(call);
    const arriving = calls.waits.untilArrival(callId);
    onWaiting(callId);
    const arrival = await arriving;
    return arrival && !calls.isGone(call) ? this.#follow(call, arrival, code) : undefined;
  }

  async #follow(call: OpenCall, arrival: Arrival, code?: string): Promise<Answer | undefined> {
    if (arrival.type === "expired") return this.#expired(call, code);
    if (arrival.type === "decision" && code !== OUTCOME_UNKNOWN) await this.#keep(call, arrival);
    return this.#obey(call, arrival, code);
  }

  async #obey(call: OpenCall, record: OutsideRecord, code?: string): Promise<Answer | undefined> {
    const { calls, runner } = this.#parts;
    calls.waits.release(call.identity.callId);
    if (record.type === "result") {
      return record.value === undefined
        ? calls.fail(call, sentences.handlerFailed(call, "", record.error ?? ""))
        : runner.deliver(call, record.value, record.redacted);
    }
    if (record.allow) call.ruling.approval = { type: "approved", ...detailsOf(record) };
    if (record.done !== undefined) return runner.deliver(call, record.done, record.redacted);
    if (code !== OUTCOME_UNKNOWN) return this.#carryOut(call, record);
    if (!record.allow) return this.#failUnknown(call);
    // Where the journal has a part of the input, another one was shown: whether this one may be used is decided as of any other.
    if (!call.ruling.earlier?.isHidden) return this.#run(call);
    call.ruling.isUnknown = false;
    return this.#beginAnew(call);
  }

  /** The answer to a call that has waited for too long. An approver that was asked is told. */
  async #expired(call: OpenCall, code?: string): Promise<Answer | undefined> {
    const { calls, limits } = this.#parts;
    const { waitMs = 0 } = limits;
    const { tool, identity } = call;
    calls.waits.release(identity.callId);
    call.setLate(`No answer came within ${waitMs} ms.`);
    if (code === OUTCOME_UNKNOWN) return this.#failUnknown(call);
    return call.ruling.approval?.type === "held"
      ? calls.refuse(call, sentences.approvalExpired(tool.name, waitMs))
      : calls.fail(call, sentences.resultExpired(tool.name, call.ruling.effect, waitMs));
  }

  /** Answers a call whose stream has ended and was given as a whole: only its end is left to tell. Undefined else. */
  #completeStream(call: OpenCall, { answered, streamed }: PastCall): Promise<Answer | undefined> | undefined {
    const progress = call.progress;
    if (!streamed || !progress || !answered?.ok || answered.items !== progress.items) return undefined;
    call.ruling.isRecorded = true;
    call.handling.started = true;
    return Promise.resolve(this.#parts.calls.finish(call, streamEnded(progress, true)));
  }

  async #repeat(call: OpenCall): Promise<Answer | undefined> {
    const { tool } = call;
    if (tool.effectOf) {
      const refused = await this.#readEffect(call);
      if (refused !== EFFECT_READ) return refused;
    }
    if (call.ruling.effect !== "write" || tool.onUnknown === "retry") return this.#run(call);
    return this.#decideUnknown(call);
  }

  async #decideUnknown(call: OpenCall): Promise<Answer | undefined> {
    const { calls, canWait, ledger } = this.#parts;
    const { ruling, identity, tool } = call;
    if (tool.onUnknown === "fail" || !canWait) return this.#failUnknown(call);
    const refused = call.shown ? EFFECT_READ : await this.#readEffect(call);
    if (refused !== EFFECT_READ) return refused;
    calls.waits.hold(identity.callId);
    ruling.isUnknown = true;
    const facts = { decision: "held", code: OUTCOME_UNKNOWN, earlier: earlierOf(ruling) } as const;
    await ledger.noteDecision(identity, facts, call);
    return this.#waitOutside(call, OUTCOME_UNKNOWN);
  }

  /** Reads a call's input to ask what the call changes. After that only the input's text is held. */
  async #readEffect(call: OpenCall): Promise<Answer | typeof EFFECT_READ | undefined> {
    const { admission, runner } = this.#parts;
    const read = await runner.withInput(call, async (): Promise<typeof EFFECT_READ> => EFFECT_READ);
    admission.giveBackInput(call);
    return read;
  }

  #failUnknown(call: OpenCall): Answer | undefined {
    const { tool, ruling } = call;
    return this.#parts.calls.fail(call, sentences.outcomeUnknown(tool.name, ruling.earlier !== undefined));
  }
}
