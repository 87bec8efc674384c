/*
 * A conversation while a driver holds it: its log, and the adapter's conversation with the model. Turns, results and
 * messages come in from `drive-conversation.ts`; they are appended to the journal, then passed on to the model.
 */
import { type Lane, now, PortcullisError } from "../../base/index.ts";
import type { PastUse } from "../../gate/session.ts";
import { ArtifactSpace } from "../../journal/artifact-space.ts";
import {
  type CallResult,
  type ModelConversation,
  isWholeEnd,
  type Model,
  type ModelCall,
  type ModelTurn,
  type ModelUsage,
  NO_USAGE,
  type Opening,
} from "../../models/model.ts";
import type { AgentRequest } from "../agent-report.ts";
import type { ConversationSpan } from "../../gate/telemetry/telemetry.ts";
import type { AgentScope } from "../agent-scope.ts";
import { type ConversationLog, recordOf } from "./conversation-log.ts";
import type { AgentEnding } from "../event.ts";
import { failedPrograms } from "../calls/failed-programs.ts";
import type { ResultWays } from "../calls/call-result.ts";
import {
  callsWithoutResult,
  hasOpenTurn,
  type KeptTurn,
  resultsInOrder,
  type KnownState,
} from "../from-journal/conversation-state.ts";
import { isSent, restoreConversation } from "../from-journal/restore-conversation.ts";
import { type PastConversation, readBelow } from "../from-journal/past-conversation.ts";
import { openingFor } from "../prompt/opening.ts";
import type { ChangedTurn } from "../prompt/compact.ts";
import type { SaidMessage } from "../prompt/said-message.ts";
import { keepLarge } from "../../executions/drive/ending/keep-value.ts";

export interface LiveParts {
  readonly scope: AgentScope;
  readonly log: ConversationLog;
  readonly request: AgentRequest;
  readonly opening: Opening;
  readonly conversation: ModelConversation;
  /** Whether it goes on after an ending, when the user says more. */
  readonly rests: boolean;
  readonly span?: ConversationSpan | undefined;
  readonly allowChangedTools?: boolean | undefined;
  readonly asks?: boolean | undefined;
}

/**
 * What has happened is the state of the log. The class adds the model's side, which the journal cannot hold, and what
 * programs and agents of its calls have used. `drive-conversation.ts` drives it from one message of the user to the next ending.
 */
export class LiveConversation {
  readonly log: ConversationLog;
  readonly request: AgentRequest;
  readonly parts: LiveParts;
  /** What its programs keep, and results that are too large for the model. */
  readonly artifacts: ArtifactSpace;
  scope: AgentScope;
  model: Model;
  opening: Opening;
  /** The turn whose calls are being answered: the model's side does not have its results. */
  open: KeptTurn | undefined;
  /** Whether an earlier driver or an earlier `send` has begun programs of the open turn's calls. */
  hasBegun = false;
  use: PastUse | undefined;
  usage: ModelUsage = NO_USAGE;
  failed = failedPrograms();
  /** The spans that the next driving's span refers to: the first driver's and the last driver's. */
  #before: readonly (string | undefined)[] = [];
  #span: ConversationSpan | undefined;
  #conversation: ModelConversation | undefined;
  recorded: Promise<void> = Promise.resolve();

  constructor(parts: LiveParts, past?: PastConversation) {
    const { scope, log, request, opening, conversation } = parts;
    this.parts = parts;
    this.scope = scope;
    this.log = log;
    this.artifacts = new ArtifactSpace(scope.journal, log.execution, log.state.artifacts, log);
    this.request = request;
    this.opening = opening;
    this.model = request.model;
    this.#conversation = conversation;
    this.#span = parts.span;
    if (!past) return;
    // Results of the last turn are given to the model together, once all are there.
    this.open = hasOpenTurn(log.state) ? log.state.turns.at(-1) : undefined;
    this.#before = [past.header.trace, past.drivers.trace];
    this.#takeBelow(past);
    this.usage = past.usage;
  }

  get execution(): string {
    return this.log.execution;
  }

  get state(): KnownState {
    return this.log.state;
  }

  resultWays(lane: Lane): ResultWays {
    const { limits, redactor } = this.scope;
    const space = { space: this.artifacts, prefix: "" };
    return {
      outputBytes: limits.outputBytes,
      lane,
      keep: (callId, text, redacted) => keepLarge({ place: space, limits, lane, redactor, redacted }, text, callId),
      redactor,
      loads: this.request.programs === "local",
    };
  }

  get openCalls(): readonly ModelCall[] {
    return this.open ? callsWithoutResult(this.open) : [];
  }

  #takeBelow({ use, open, failed }: PastConversation): void {
    this.use = use;
    this.failed = failed;
    this.hasBegun = open.values().some(({ program }) => program !== undefined);
  }

  takeSpan(): ConversationSpan | undefined {
    const { execution, model, scope } = this;
    const about = { execution, model: model.name, tenant: scope.tenant, before: this.#before };
    const span = this.#span ?? scope.telemetry?.beginConversation(about);
    this.#span = undefined;
    this.#before = [this.#before[0] ?? span?.traceparent, span?.traceparent];
    return span;
  }

  async conversation(): Promise<ModelConversation> {
    this.#conversation ??= await this.openedWith(this.opening);
    return this.#conversation;
  }

  /** Whether the model has not been sent all that the user said: a hosted program waited for results. */
  async holdsMessages(): Promise<boolean> {
    return (await this.conversation()).holdsMessages === true;
  }

  /** The model's side with another opening, or of another model. Nothing changes before it is taken over. */
  openedWith(opening: Opening, model = this.model): Promise<ModelConversation> {
    return restoreConversation(model, opening, this.state, this.open !== undefined);
  }

  takeOpened(opening: Opening, conversation: ModelConversation): void {
    this.opening = opening;
    this.#conversation = conversation;
    this.tellTools();
  }

  /** Tells which tools the model's provider does not hold to their schemas, though it was asked to, or is told of otherwise. */
  tellTools(): void {
    const { notStrict = [], toldOtherwise = [] } = this.#conversation ?? {};
    const about = { execution: this.execution, model: this.model.name };
    const { onEvent } = this.scope;
    if (notStrict.length > 0) onEvent({ type: "tools_not_strict", ...about, tools: [...notStrict] });
    if (toldOtherwise.length > 0) onEvent({ type: "inputs_changed", ...about, tools: [...toldOtherwise] });
  }

  /** The model's side is opened anew before the next turn. */
  reopen(): void {
    this.#conversation = undefined;
  }

  /** The model's side may have what the journal does not have, so it is opened anew if it can be. */
  forget(): void {
    if (this.#conversation?.restore || this.state.turns.length === 0) this.reopen();
  }

  /** Another model answers from here on, or the same one by other instructions. Rejects as `Model.converse` does, and then nothing changed. */
  async changeModel(model: Model, text?: string): Promise<void> {
    const { request, scope, state } = this;
    const instructions = text ?? request.instructionsFor?.(model.name) ?? state.answering.instructions;
    const opening = openingFor(model, scope, { ...request, instructions });
    const conversation = await this.openedWith(opening, model);
    await this.log.append({ type: "model", model: model.name, instructions, at: now() });
    this.model = model;
    this.takeOpened(opening, conversation);
  }

  async compact(kept: readonly ChangedTurn[]): Promise<void> {
    const places = new Map(this.state.turns.map(({ turn }, place) => [turn, place]));
    const history = kept.map(({ from, ...changed }) => ({ turn: places.get(from.turn) as number, ...changed }));
    await this.log.append(...recordOf({ history }));
    this.reopen();
  }

  /** Says something to the model. Throws `option_invalid` for a part that its provider does not take, and then nothing was said. */
  async say(messages: readonly SaidMessage[]): Promise<void> {
    if (messages.length > 0) this.#tell(await this.conversation(), messages);
    await this.log.append(...recordOf({ said: messages }));
  }

  #tell(conversation: ModelConversation, messages: readonly SaidMessage[]): void {
    try {
      for (const { message } of messages) conversation.say(message);
    } catch (error) {
      this.forget();
      throw error;
    }
  }

  /** Takes a turn of the model. `isLast`: nothing goes on after it before the user says more. */
  async takeTurn(turn: ModelTurn, isLast = false): Promise<KeptTurn> {
    // A turn that does not count is never restored.
    const { opaque } = isWholeEnd(turn.end) ? await this.conversation() : {};
    const append = this.log.append(...recordOf({ turn }, opaque));
    // Both records are written together.
    await (isLast ? this.log.append({ type: "rest", at: now() }) : append);
    const open = this.state.turns.at(-1) as KeptTurn;
    this.open = open;
    this.hasBegun = false;
    return open;
  }

  /** Results of calls that are not made, because the conversation ends. They are journalled together with what follows. */
  takeUnmade(results: readonly CallResult[]): void {
    if (results.length > 0) this.log.defer(...dated(results));
  }

  takeResult(result: CallResult): void {
    this.recorded = this.log.append(...dated([result]));
  }

  /** Like `closeTurn`. Throws `call_open` if a call lacks its result. */
  async closeAnswered(): Promise<void> {
    const { length } = this.openCalls;
    if (length > 0)
      throw new PortcullisError(
        "call_open",
        `${length} ${length === 1 ? "call" : "calls"} of the last turn have no answer. Answer them by answer(callId, …), let \`send()\` make them, or say something else, which gives them up.`,
      );
    // What was answered by hand counts.
    if (this.open) await this.refresh();
    await this.closeTurn();
  }

  /** Ends the open turn, all of whose calls have results, and gives them to the model. */
  async closeTurn(): Promise<void> {
    const { open } = this;
    if (!open) return;
    await this.recorded;
    this.open = undefined;
    // Providers take no calls without results: the model's side is opened again without the turn.
    if (isSent(open)) this.#conversation?.answer(resultsInOrder(open));
    else if (this.#conversation?.restore) this.reopen();
  }

  /** Reads what the open turn's programs have come to, without agents that calls have started. */
  async read(): Promise<PastConversation> {
    await this.log.catchUp();
    return readBelow(this.scope.journal, this.state, { agents: false });
  }

  async refresh(): Promise<PastConversation> {
    await this.log.catchUp();
    const past = await readBelow(this.scope.journal, this.state);
    this.#takeBelow(past);
    return past;
  }

  async endWith(ending: AgentEnding): Promise<void> {
    await this.log.append({ type: "outcome", outcome: JSON.stringify(ending), at: now() });
    await this.log.end(true);
  }

  /** Journals that the conversation goes no further before the user says more. */
  async rest(ending: AgentEnding): Promise<void> {
    await this.log.append({ type: "rest", ending: JSON.stringify(ending), at: now() });
  }

  async breakOff(error: unknown): Promise<void> {
    const outcome = JSON.stringify({ type: "crashed", detail: String(error) });
    try {
      await this.log.append({ type: "outcome", outcome, at: now() });
    } catch {
      // The journal itself may be the cause of the error.
    }
    await this.log.end(true);
  }
}

/** The record of results. They have the record's time, so that a conversation that is taken up has the same results. */
function dated(results: readonly CallResult[]) {
  const at = now();
  const datedResults = results.map((result) => ({ ...result, provenance: { ...result.provenance, at } }));
  return recordOf({ results: datedResults }, undefined, at);
}
