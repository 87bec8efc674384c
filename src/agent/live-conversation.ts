import { PortcullisError } from "../errors.ts";
import type { CallLine } from "../gate/call-line.ts";
import type { PastUse } from "../gate/session.ts";
import { ArtifactSpace } from "../journal/artifact-space.ts";
import type { ExecutionLog } from "../journal/execution-log.ts";
import type { JournalRecord, MessageRecord } from "../journal/record.ts";
import type { CallResult, Conversation, Model, ModelTurn, ModelUsage, Opening } from "../models/model.ts";
import { reportArtifacts } from "../output/artifacts.ts";
import { type AgentReport, agentReport, type AgentRequest } from "./agent-report.ts";
import type { ConversationSpan } from "../telemetry/telemetry.ts";
import type { AgentScope } from "./agent-scope.ts";
import { beginSpan } from "./conversation-span.ts";
import type { AgentEnding } from "./ending.ts";
import { isSent, type KeptTurn, openConversation, resultsInOrder } from "./history.ts";
import {
  hasOpenTurn,
  type OpenModelCall,
  type PastConversation,
  readOwnConversation,
  readPastConversation,
} from "./past-conversation.ts";
import { openingFor } from "./opening.ts";
import { isSame, type SaidMessage } from "./said.ts";
import type { TranscriptTurn } from "./transcript.ts";

/** The turn whose calls are being answered. */
export interface OpenTurn extends KeptTurn {
  readonly results: Map<string, CallResult>;
}

export interface LiveParts {
  readonly scope: AgentScope;
  readonly log: ExecutionLog;
  readonly request: AgentRequest;
  readonly opening: Opening;
  /** What the model is asked first; empty where messages of the user alone begin the conversation. */
  readonly task: string;
  /** The model's side, where it has been opened already. */
  readonly conversation: Conversation;
  /** Whether it goes on after an ending, when the user says more. */
  readonly rests: boolean;
  /** The span of the first driving; later ones have spans of their own. */
  readonly span?: ConversationSpan | undefined;
  /** Take its programs up although tools have changed. */
  readonly allowChangedTools?: boolean | undefined;
  /** Ask about calls of its programs that wait. */
  readonly asks?: boolean | undefined;
}

/**
 * A conversation as its driver holds it, from its beginning to its end. The journal has all of it: whatever happens is
 * appended before the model's side is told. `SayLoop` drives it from one message of the user to the next ending.
 */
export class LiveConversation {
  readonly execution: string;
  readonly log: ExecutionLog;
  readonly request: AgentRequest;
  readonly parts: LiveParts;
  /** What its programs keep, and results that are too large for the model. */
  readonly artifacts: ArtifactSpace;
  scope: AgentScope;
  opening: Opening;
  /** System text of the developer's, for the model that answers now. */
  instructions: string | undefined;
  /** All turns with all results, for the transcript. */
  readonly turns: KeptTurn[] = [];
  /** What the model is sent of them. */
  sent: KeptTurn[] = [];
  /** Said after the last turn. */
  said: SaidMessage[] = [];
  open: OpenTurn | undefined;
  /** What the journal says of the open turn's calls, where an earlier driver or an earlier `say` has left them. */
  leftOpen: ReadonlyMap<string, OpenModelCall> = new Map();
  use: PastUse | undefined;
  usage: ModelUsage = NO_USAGE;
  /** Number of turns that were copied from the conversation that this one continues. */
  copied = 0;
  /** Number of turns before what the user said last. */
  turnsBefore = 0;
  /** Whether it was taken up, and has come no further than the last driver. */
  isTakenUp = false;
  /** Value of the last answer, where it has a schema. */
  answer: unknown;
  /** Whether the journal says that it goes no further before the user says more. */
  isResting = false;
  /** Spans that were before the one of the driving that comes next: of the first driver and of the last one. */
  #before: readonly (string | undefined)[] = [];
  #span: ConversationSpan | undefined;
  #model: Model;
  #conversation: Conversation | undefined;
  readonly #withEnding: JournalRecord[] = [];
  /** Resolves once all results so far are in the journal. */
  #recorded: Promise<void> = Promise.resolve();

  constructor(parts: LiveParts, past?: PastConversation) {
    const { scope, log, request, opening, conversation } = parts;
    this.parts = parts;
    this.execution = log.execution;
    this.scope = scope;
    this.log = log;
    this.artifacts = new ArtifactSpace(scope.journal, log.execution, past?.artifacts, log);
    this.request = request;
    this.opening = opening;
    this.instructions = request.instructions;
    this.#model = request.model;
    this.#conversation = conversation;
    this.#span = parts.span;
    if (past) this.#restore(past);
  }

  #restore(past: PastConversation): void {
    const { header, turns, sent, said, open, use, usage, turnsBefore, rest, trace } = past;
    const last = turns.at(-1);
    this.copied = header.continues?.turns ?? 0;
    // Results of the last turn are given to the model together, once all are there.
    const isOpen = hasOpenTurn(past);
    this.turns.push(...(isOpen ? turns.slice(0, -1) : turns));
    this.sent = isOpen ? sent.slice(0, -1) : [...sent];
    this.said = [...said];
    if (isOpen && last) this.open = { ...last, results: new Map(last.results) };
    this.leftOpen = open;
    this.use = use;
    this.usage = usage;
    this.#before = [header.trace, trace];
    this.turnsBefore = turnsBefore;
    this.isResting = rest !== undefined;
    this.isTakenUp = true;
  }

  /** The span of the driving that begins; undefined where nothing records. */
  takeSpan(): ConversationSpan | undefined {
    const { execution, model } = this;
    const span = this.#span ?? beginSpan(this.scope, { execution, model: model.name, before: this.#before });
    this.#span = undefined;
    this.#before = [this.#before[0] ?? span?.traceparent, span?.traceparent];
    return span;
  }

  /** Takes over turns that were copied into its journal. */
  begin(turns: readonly KeptTurn[], said: readonly SaidMessage[]): void {
    this.turns.push(...turns);
    this.sent.push(...turns);
    this.said.push(...said);
    this.copied = turns.length;
    this.turnsBefore = turns.length;
    this.isResting = true;
    this.reopen();
  }

  get model(): Model {
    return this.#model;
  }

  /** Turns since the user said something, the open one not among them. */
  get turnsOfSay(): readonly KeptTurn[] {
    return this.turns.slice(this.turnsBefore);
  }

  /** All that was said since then, up to now. */
  get saidInSay(): readonly SaidMessage[] {
    return [...this.turnsOfSay.flatMap(({ said }) => said), ...this.said];
  }

  /** The model's side, brought to where the conversation is. */
  async conversation(): Promise<Conversation> {
    this.#conversation ??= await this.#open(this.#model, this.opening);
    return this.#conversation;
  }

  /** The model's side with another opening. Nothing changes before it is taken over. */
  openedWith(opening: Opening): Promise<Conversation> {
    return this.#open(this.#model, opening);
  }

  takeOpened(opening: Opening, conversation: Conversation): void {
    this.opening = opening;
    this.#conversation = conversation;
  }

  /** The model's side is opened anew before the next turn. */
  reopen(): void {
    this.#conversation = undefined;
  }

  /** The model's side may have what the journal has not: it is opened anew, where it can be. */
  forget(): void {
    if (this.#conversation?.restore || this.turns.length === 0) this.reopen();
  }

  /** Another model answers from here on. Rejects as `Model.converse` does, and then nothing changed. */
  async changeModel(model: Model): Promise<void> {
    const { request, scope } = this;
    const { gate, language, tenant, limits } = scope;
    const instructions = request.instructionsFor?.(model.name) ?? request.instructions;
    const opening = openingFor(model, gate.search, { ...request, instructions, language, tenant, limits });
    const conversation = await this.#open(model, opening);
    const told = instructions === undefined ? {} : { instructions };
    await this.log.append({ type: "model", model: model.name, ...told, at: Date.now() });
    this.#model = model;
    this.instructions = instructions;
    this.takeOpened(opening, conversation);
  }

  /** The model is sent a shorter history from here on. */
  async compact(kept: readonly { readonly from: KeptTurn; readonly to: KeptTurn }[]): Promise<void> {
    const places = new Map(this.turns.map(({ turn }, place) => [turn, place]));
    const history = kept.map(({ from, to }) => ({
      turn: places.get(from.turn),
      ...(isSame(from.said, to.said) ? {} : { said: to.said }),
      results: resultsInOrder(to).filter((result) => from.results.get(result.callId) !== result),
    }));
    await this.log.append({ type: "compact", history: JSON.stringify(history), at: Date.now() });
    this.sent = kept.map(({ to }) => to);
    this.reopen();
  }

  #open(model: Model, opening: Opening): Promise<Conversation> {
    const { sent: turns, said } = this;
    const all = this.turns;
    return openConversation(model, opening, { task: this.parts.task, turns, said, all, isOpen: false });
  }

  /** Says something to the model. Throws `option_invalid` for a part that its provider does not take, and then nothing was said. */
  async say(said: readonly SaidMessage[]): Promise<void> {
    if (said.length > 0) this.#tell(await this.conversation(), said);
    await this.log.append({ type: "message", from: "user", message: JSON.stringify(said), at: Date.now() });
    if (said.every(({ by }) => by === "user")) this.turnsBefore = this.turns.length;
    this.isResting = false;
    this.said.push(...said);
  }

  #tell(conversation: Conversation, said: readonly SaidMessage[]): void {
    try {
      for (const { message } of said) conversation.say(message);
    } catch (error) {
      this.forget();
      throw error;
    }
  }

  /** Takes a turn of the model. `isLast`: nothing goes on after it before the user says more. */
  async takeTurn(turn: ModelTurn, isLast = false): Promise<OpenTurn> {
    const { opaque } = await this.conversation();
    const sealed = opaque === undefined ? {} : { opaque };
    const at = Date.now();
    const message = JSON.stringify(turn);
    await this.log.append(
      { type: "message", from: "model", message, ...sealed, at },
      ...(isLast ? [{ type: "rest", at } as const] : []),
    );
    this.isTakenUp = false;
    this.isResting = isLast;
    this.leftOpen = new Map();
    this.open = { said: this.said, turn, opaque, model: this.#model.name, results: new Map() };
    this.said = [];
    return this.open;
  }

  /** Results of calls that are not made, because the conversation ends. They are journalled together with its ending. */
  takeUnmade(results: readonly CallResult[]): void {
    if (results.length > 0) this.#withEnding.push(this.#dated(results));
  }

  takeResult(result: CallResult): void {
    this.#recorded = this.log.append(this.#dated([result]));
  }

  /** The record of results, which have its time: a conversation that is taken up has them from there, with the same time. */
  #dated(results: readonly CallResult[]): MessageRecord {
    const at = Date.now();
    const dated = results.map((result) => ({ ...result, provenance: { ...result.provenance, at } }));
    for (const result of dated) this.open?.results.set(result.callId, result);
    return { type: "message", from: "host", message: JSON.stringify(dated), at };
  }

  /** Resolves once all results so far are in the journal. */
  get recorded(): Promise<void> {
    return this.#recorded;
  }

  /** Ends the open turn, all of whose calls have results, and gives them to the model. */
  async closeTurn(): Promise<void> {
    const { open } = this;
    if (!open) return;
    await this.#recorded;
    this.#keep(open);
    // Providers take no calls without results: the model's side is opened again without the turn.
    if (isSent(open)) this.#conversation?.answer(resultsInOrder(open));
    else if (this.#conversation?.restore) this.reopen();
  }

  #keep(open: OpenTurn): void {
    this.turns.push(open);
    this.sent.push(open);
    this.open = undefined;
    this.leftOpen = new Map();
  }

  /** Reads the journal, without agents that calls have started. */
  async read(): Promise<PastConversation> {
    await this.#recorded;
    return readPastConversation(this.scope.journal, this.execution);
  }

  /** Reads from the journal what the open turn's calls have come to, and what was used. */
  async refresh(): Promise<PastConversation> {
    await this.#recorded;
    await this.log.catchUp();
    const past = await readOwnConversation(this.scope, this.execution);
    this.leftOpen = past.open;
    this.use = past.use;
    return past;
  }

  /** The report of the conversation as it is. */
  report<Answer>(
    ending: AgentEnding,
    { calls, lines }: { readonly calls: number; readonly lines: readonly CallLine[] },
  ): AgentReport<Answer> {
    const turns = [...this.turns, ...(this.open ? [this.open] : [])];
    return agentReport<Answer>(
      { ...this.request, model: this.#model },
      {
        value: this.answer,
        execution: this.execution,
        ending,
        task: this.parts.task,
        turns: transcriptTurns(turns),
        said: this.said,
        tools: this.scope.gate.tools.all.map(({ name }) => name),
        calls,
        lines,
        usage: this.usage,
        copied: this.copied,
        artifacts: reportArtifacts(this.artifacts),
      },
    );
  }

  /** Journals that it goes no further, and gives it up. */
  async endWith(ending: AgentEnding): Promise<void> {
    const outcome = { type: "outcome", outcome: JSON.stringify(ending), at: Date.now() } as const;
    await this.log.append(...this.#withEnding.splice(0), outcome);
    await this.log.end(true);
  }

  /** Journals that it goes no further before the user says more. */
  async rest(ending: AgentEnding): Promise<void> {
    const rest = { type: "rest", ending: JSON.stringify(ending), at: Date.now() } as const;
    await this.log.append(...this.#withEnding.splice(0), rest);
    this.isResting = true;
  }

  /** Journals why it was broken off. */
  async breakOff(error: unknown): Promise<void> {
    const outcome = JSON.stringify({ type: "crashed", detail: String(error) });
    try {
      await this.log.append({ type: "outcome", outcome, at: Date.now() });
    } catch {
      // The journal itself may be the cause of the error.
    }
    await this.log.end(true);
  }
}

const NO_USAGE: ModelUsage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 };

export function transcriptTurns(turns: readonly KeptTurn[]): readonly TranscriptTurn[] {
  return turns.map((one) => ({
    ...(one.said.length > 0 ? { said: one.said } : {}),
    turn: one.turn,
    results: resultsInOrder(one),
  }));
}

export function callsOpen(count: number): PortcullisError {
  return new PortcullisError(
    "call_open",
    `${count} ${count === 1 ? "call" : "calls"} of the last turn have no answer. Answer them by answer(callId, …), let \`say()\` make them, or say something else, which gives them up.`,
  );
}
