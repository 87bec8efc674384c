import { PortcullisError } from "../errors.ts";
import { type RememberedDecision, rememberedIn } from "../gate/remembered.ts";
import { type PastArtifact, pastArtifact } from "../journal/artifact-space.ts";
import type {
  CompactRecord,
  ConversationHeader,
  JournalRecord,
  MessageRecord,
  OutcomeRecord,
  RestRecord,
  ToolDigest,
} from "../journal/record.ts";
import type { CallResult, ModelCall } from "../models/model.ts";
import { applyToCall, type UnansweredCall } from "../programs/execution-state.ts";
import { PastCalls } from "../programs/past-calls.ts";
import type { KeptTurn } from "./history.ts";
import type { PastConversation } from "./past-conversation.ts";
import { RUN_PROGRAM } from "./run-program.ts";
import type { SaidMessage } from "./said.ts";

type Parsers = typeof import("./parse-message.ts");
type Unanswered = UnansweredCall & { readonly id: string };

interface ReadTurn extends KeptTurn {
  readonly results: Map<string, CallResult>;
}

/** Records that a conversation is taken up with. */
const RESTORED: ReadonlySet<string> = new Set(["header", "message", "compact", "decision", "result"]);

/** Puts a conversation together from its records, one after the other. Throws `journal_invalid`. */
export class ConversationReader {
  readonly turns: ReadTurn[] = [];
  readonly calls = new PastCalls();
  readonly remembered: RememberedDecision[] = [];
  readonly #execution: string;
  readonly #parsers: Parsers;
  readonly #ids = new Set<string>();
  #header: ConversationHeader | undefined;
  #sent: KeptTurn[] = [];
  #said: SaidMessage[] = [];
  #turnsBefore = 0;
  #model = "";
  #instructions: string | undefined;
  #tools: readonly ToolDigest[] = [];
  #rest: RestRecord | undefined;
  #outcome: OutcomeRecord | undefined;
  #trace: string | undefined;
  #open = new Map<string, Unanswered>();
  #records = 0;
  #isRedacted = false;
  readonly #artifacts: PastArtifact[] = [];

  constructor(execution: string, parsers: Parsers) {
    this.#execution = execution;
    this.#parsers = parsers;
  }

  take(record: JournalRecord): void {
    this.#records += 1;
    this.#isRedacted ||= "redacted" in record && record.redacted !== undefined && RESTORED.has(record.type);
    switch (record.type) {
      case "header":
        if (record.kind !== "conversation") return;
        this.#header = record;
        this.#trace = record.trace;
        this.#model = record.model;
        this.#tools = record.tools;
        this.#instructions = record.instructions;
        break;
      case "claim":
        this.#trace = record.trace ?? this.#trace;
        break;
      case "message":
        this.#takeMessage(record);
        break;
      case "rest":
        this.#rest = record;
        break;
      case "model":
        this.#model = record.model;
        this.#instructions = record.instructions ?? this.#instructions;
        break;
      case "tools":
        this.#tools = record.tools;
        break;
      case "compact":
        this.#takeCompact(record);
        break;
      case "call":
      case "decision":
      case "result":
      case "answered":
        applyToCall(this.#open.get(record.call), record);
        if (record.type === "call") this.calls.decided(record);
        else if (record.type === "answered") this.calls.answered(record);
        else this.remembered.push(...rememberedIn([record], (id) => this.#open.get(id)));
        break;
      case "retry":
        if (record.call === undefined) break;
        applyToCall(this.#open.get(record.call), record);
        this.calls.retried(record);
        break;
      case "artifact":
        this.#artifacts.push(pastArtifact(record, this.#records - 1));
        break;
      case "outcome":
        this.#outcome = record;
        break;
      default:
    }
  }

  /** The conversation, once all its records were taken. Throws `journal_invalid` where its beginning is missing. */
  end() {
    const header = this.#header;
    if (!header) throw this.#invalid("it is no conversation");
    if ((header.continues?.turns ?? 0) > this.turns.length)
      throw this.#invalid("not all turns of the conversation that it continues were copied. Continue that one again");
    const facts: Omit<PastConversation, "header" | "turns" | "open" | "use" | "usage"> = {
      records: this.#records,
      sent: this.#sent,
      said: this.#said,
      turnsBefore: this.#turnsBefore,
      model: this.#model,
      instructions: this.#instructions,
      tools: this.#tools,
      rest: this.#rest,
      outcome: this.#outcome,
      trace: this.#trace,
      isRedacted: this.#isRedacted,
      artifacts: this.#artifacts,
    };
    return { header, open: this.#open, facts };
  }

  #takeMessage(record: MessageRecord): void {
    if (record.from === "model") this.#takeTurn(record);
    else if (record.from === "host") this.#takeResults(record);
    else this.#takeSaid(record);
  }

  #takeTurn(record: MessageRecord): void {
    const turn = this.#parsers.parseTurn(record);
    for (const { id } of turn.calls) {
      if (this.#ids.has(id))
        throw new PortcullisError("journal_invalid", `The journal holds two calls ${JSON.stringify(id)} of one model.`);
      this.#ids.add(id);
    }
    const { opaque } = record;
    const kept = { said: this.#said, turn, opaque, model: this.#model, results: new Map<string, CallResult>() };
    this.turns.push(kept);
    this.#sent.push(kept);
    this.#said = [];
    this.#rest = undefined;
    this.#open = new Map(turn.calls.map((call) => [call.id, unanswered(call)]));
  }

  #takeResults(record: MessageRecord): void {
    for (const result of this.#parsers.parseResults(record)) {
      this.#open.delete(result.callId);
      this.turns.at(-1)?.results.set(result.callId, result);
    }
  }

  #takeSaid(record: MessageRecord): void {
    const said = this.#parsers.parseSaid(record);
    if (said.length > 0 && this.#open.size > 0)
      throw this.#invalid("a message of the user follows calls without results");
    this.#said.push(...said);
    if (said.every(({ by }) => by === "user")) this.#turnsBefore = this.turns.length - (this.#open.size > 0 ? 1 : 0);
    this.#rest = undefined;
  }

  #takeCompact(record: CompactRecord): void {
    // It says what changes in what was sent before it, which may have been shortened already.
    const before = new Map(this.#sent.map((one) => [one.turn, one]));
    this.#sent = this.#parsers.parseCompact(record).map(({ turn, said, results }) => {
      const whole = this.turns[turn];
      const sent = whole && before.get(whole.turn);
      if (!sent) throw this.#invalid("its shortened history has a turn that was not sent");
      const changed = new Map(results.map((result) => [result.callId, result]));
      return { ...sent, said: said ?? sent.said, results: new Map([...sent.results, ...changed]) };
    });
  }

  #invalid(why: string): PortcullisError {
    return new PortcullisError(
      "journal_invalid",
      `Execution ${JSON.stringify(this.#execution)} cannot be read as a conversation: ${why}.`,
    );
  }
}

function unanswered(call: ModelCall): Unanswered {
  const { id } = call;
  if (call.type === "tool_call") return { id, tool: call.tool, inputText: call.inputText };
  return { id, tool: RUN_PROGRAM, inputText: JSON.stringify(call.source ?? null) };
}
