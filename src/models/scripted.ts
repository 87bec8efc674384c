import { optionError } from "../errors.ts";
import { CallIds } from "./call-ids.ts";
import type {
  CallResult,
  Conversation,
  Model,
  ModelCall,
  ModelTurn,
  ModelUsage,
  Opening,
  ProviderFailure,
  TurnEnd,
  TurnReply,
  TurnRequest,
} from "./model.ts";
import type { Caller } from "../tools/tool.ts";

/** A call in a script. Its id is made up where the script gives none. */
export interface ScriptedCall {
  readonly id?: string;
  readonly tool: string;
  readonly input?: unknown;
  /** JSON text in place of `input`, for what is not JSON. */
  readonly inputText?: string;
  readonly caller?: Caller | "unknown";
  readonly answerBy?: number;
}

/** One turn of a script; it ends as its parts suggest, unless it says otherwise. A turn of a transcript is one too. */
export interface ScriptedTurn {
  readonly text?: string;
  readonly calls?: readonly (ScriptedCall | ModelCall)[];
  /** Sources of programs to hand over. */
  readonly programs?: readonly string[];
  readonly end?: TurnEnd;
  readonly usage?: Partial<ModelUsage>;
  readonly hosted?: ModelTurn["hosted"];
  /** The provider fails instead. */
  readonly failure?: ProviderFailure;
}

/** What a script that computes its turns is told. */
export interface ScriptedMoment {
  readonly opening: Opening;
  /** Everything the user has said so far. */
  readonly said: readonly string[];
  /** What the calls of the turn before were answered. */
  readonly results: readonly CallResult[];
}

export type ScriptedStep = ScriptedTurn | ((moment: ScriptedMoment) => ScriptedTurn | Promise<ScriptedTurn>);

/** A model that says what is written down for it: for tests, without a provider, a key or a network. */
export interface ScriptedModel extends Model {
  /** What each conversation was told and answered, in order. */
  readonly conversations: readonly ScriptedMoment[][];
}

export interface ScriptedModelOptions {
  readonly name?: string;
  readonly hostsPrograms?: boolean;
}

/** Every conversation begins at the script's first turn. Where the script is at its end, the provider fails. */
export function scriptedModel(script: readonly ScriptedStep[], options: ScriptedModelOptions = {}): ScriptedModel {
  if (!Array.isArray(script)) throw optionError("scriptedModel(script)", "an array of turns", script);
  const conversations: ScriptedMoment[][] = [];
  return {
    name: options.name ?? "scripted:script",
    hostsPrograms: options.hostsPrograms ?? true,
    conversations,
    async converse(opening) {
      const moments: ScriptedMoment[] = [];
      conversations.push(moments);
      return new ScriptedConversation(script, opening, moments);
    },
  };
}

class ScriptedConversation implements Conversation {
  readonly #script: readonly ScriptedStep[];
  readonly #opening: Opening;
  readonly #moments: ScriptedMoment[];
  readonly #said: string[] = [];
  readonly #ids = new CallIds();
  #results: readonly CallResult[] = [];

  constructor(script: readonly ScriptedStep[], opening: Opening, moments: ScriptedMoment[]) {
    this.#script = script;
    this.#opening = opening;
    this.#moments = moments;
  }

  say(text: string): void {
    this.#said.push(text);
  }

  answer(results: readonly CallResult[]): void {
    this.#results = results;
  }

  async turn({ signal, onText }: TurnRequest): Promise<TurnReply> {
    if (signal.aborted) return { type: "aborted" };
    const moment = { opening: this.#opening, said: [...this.#said], results: this.#results };
    this.#results = [];
    const step = this.#script[this.#moments.length];
    this.#moments.push(moment);
    if (step === undefined) return { type: "failed", failure: SCRIPT_ENDED };
    const turn = typeof step === "function" ? await Promise.race([step(moment), untilAborted(signal)]) : step;
    if (turn === ABORTED || signal.aborted) return { type: "aborted" };
    if (turn.failure) return { type: "failed", failure: turn.failure, usage: usageOf(turn) };
    for (const [word] of (turn.text ?? "").matchAll(/\S+\s*|\s+/g)) onText(word);
    return this.#whole(turn);
  }

  #whole(turn: ScriptedTurn): ModelTurn {
    const { text = "", calls = [], programs = [], hosted = [], end } = turn;
    const all: ModelCall[] = [
      ...calls.map((call) => this.#callOf(call)),
      ...programs.map((source) => ({ type: "program_call", id: this.#ids.take(undefined), source }) as const),
    ];
    const whole = end ?? { type: all.length > 0 ? "called" : "answered" };
    const usage = usageOf(turn);
    return { type: "turn", text, calls: whole.type === "called" ? all : [], hosted, end: whole, usage };
  }

  #callOf(call: ScriptedCall | ModelCall): ModelCall {
    const id = this.#ids.take(call.id);
    if ("type" in call) return { ...call, id };
    const { tool, caller = "direct", input = {}, inputText = JSON.stringify(input), answerBy } = call;
    return { type: "tool_call", id, tool, caller, inputText, ...(answerBy === undefined ? {} : { answerBy }) };
  }
}

function usageOf({ usage }: ScriptedTurn): ModelUsage {
  return { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, ...usage };
}

const ABORTED = Symbol("aborted");

/** A provider may be silent for ever, and so may a step that plays one. */
function untilAborted(signal: AbortSignal): Promise<typeof ABORTED> {
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(ABORTED), { once: true });
  });
}

const SCRIPT_ENDED: ProviderFailure = { code: "reply_invalid", message: "The script has no further turn." };
