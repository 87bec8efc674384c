import type { ModelCall, UserMessage } from "../model.ts";
import { type AskedAnswer, type AskedTurn, groupedName, refused } from "./surface.ts";

/** What the history of a request says. */
export interface AskedHistory {
  readonly turns: readonly AskedTurn[];
  readonly said: readonly UserMessage[];
  readonly answers: ReadonlyMap<string, AskedAnswer>;
  readonly ofPrograms: ReadonlySet<string>;
  readonly openPrograms: readonly string[];
  /** Whether the last that was read is the model's own. */
  readonly endsWithModel: boolean;
}

/** How a provider says what is wrong with a history. */
export interface HistoryWords {
  readonly unanswered: (ids: readonly string[]) => string;
  readonly unexpectedAnswer: (id: string) => string;
  readonly unexpectedEnd: (id: string) => string;
  readonly noProgram: string;
  readonly repeatedId: string;
  readonly saidWhileWaiting: string;
  readonly onlyText: string;
}

interface OpenTurn extends AskedTurn {
  text: string;
  readonly calls: ModelCall[];
  readonly results: Map<string, AskedAnswer>;
}

interface CallAsked {
  readonly id: string;
  readonly tool: string;
  readonly namespace?: string;
  readonly inputText: string;
}

/** Ids that an error lists. */
const LISTED = 10;

/**
 * Puts the turns of a model together from what a client repeats: texts, calls, programs and their ends, answers, and what
 * the user said, in their order. Throws `RefusedAsk` for what no conversation can have been.
 */
export class HistoryReader {
  readonly #words: HistoryWords;
  readonly #turns: OpenTurn[] = [];
  #said: UserMessage[] = [];
  /** Programs of calls without an answer, by the ids of the calls. */
  readonly #below = new Map<string, string>();
  readonly #ids = new Set<string>();
  #answers = new Map<string, AskedAnswer>();
  #ofPrograms = new Set<string>();
  #isModels = false;
  /** Whether calls before this history may be answered, which the server has. */
  readonly #goesOn: boolean;

  constructor(words: HistoryWords, goesOn = false) {
    this.#words = words;
    this.#goesOn = goesOn;
  }

  get isEmpty(): boolean {
    return this.#turns.length === 0 && this.#said.length === 0;
  }

  text(text: string): void {
    this.#turn(true).text += text;
  }

  /** `namespace` is the group of the tool, if it is in one. */
  call({ namespace, ...call }: CallAsked, place: string): void {
    this.#takeId(call.id, place);
    const tool = namespace === undefined ? call.tool : groupedName(namespace, call.tool);
    this.#turn(true).calls.push({ type: "tool_call", ...call, tool, caller: "direct" });
  }

  program(id: string, source: string, place: string): void {
    this.#takeId(id, place);
    this.#turn(true).calls.push({ type: "program_call", id, source });
  }

  /** A call that a program has made. */
  callOfProgram(id: string, program: string, place: string): void {
    this.#takeId(id, place);
    const { calls } = this.#turn(false);
    if (!calls.some((call) => call.type === "program_call" && call.id === program))
      throw refused(place, this.#words.noProgram);
    this.#below.set(id, program);
  }

  programEnd(id: string, answer: AskedAnswer, place: string): void {
    const turn = this.#turn(false);
    if (!openOf(turn, "program_call").includes(id)) throw refused(place, this.#words.unexpectedEnd(id.slice(0, 256)));
    const waits = [...this.#below].filter(([, program]) => program === id).map(([call]) => call);
    if (waits.length > 0) throw refused(place, this.#words.unanswered(waits.slice(0, LISTED)));
    turn.results.set(id, answer);
  }

  answer(id: string, answer: AskedAnswer, place: string): void {
    this.#asUser();
    const turn = this.#said.length === 0 ? this.#turns.at(-1) : undefined;
    const isBelow = this.#below.has(id);
    const isKnown = isBelow || (turn !== undefined && openOf(turn, "tool_call").includes(id));
    if (!isKnown && !(this.#goesOn && this.#turns.length === 0 && !this.#answers.has(id)))
      throw refused(place, this.#words.unexpectedAnswer(id.slice(0, 256)));
    if (isBelow && answer.parts.length > 0) throw refused(place, this.#words.onlyText);
    this.#answers.set(id, answer);
    if (isBelow) this.#ofPrograms.add(id);
    if (isBelow) this.#below.delete(id);
    else turn?.results.set(id, answer);
  }

  /** The user said something: before it, all calls have answers. */
  said(message: UserMessage, place: string): void {
    this.#asUser();
    this.refuseUnanswered(place);
    const last = this.#turns.at(-1);
    if (last && this.#said.length === 0 && openOf(last, "program_call").length > 0)
      throw refused(place, this.#words.saidWhileWaiting);
    this.#said.push(message);
  }

  /** Throws if a call has no answer. Programs may still wait for theirs. */
  refuseUnanswered(place: string): void {
    const last = this.#turns.at(-1);
    if (!last || this.#said.length > 0) return;
    const open = [...openOf(last, "tool_call"), ...this.#below.keys()];
    if (open.length > 0) throw refused(place, this.#words.unanswered(open.slice(0, LISTED)));
  }

  end(): AskedHistory {
    const last = this.#turns.at(-1);
    return {
      turns: this.#turns,
      said: this.#said,
      answers: this.#isModels ? new Map() : this.#answers,
      ofPrograms: this.#ofPrograms,
      openPrograms: last ? openOf(last, "program_call") : [],
      endsWithModel: this.#isModels,
    };
  }

  #asUser(): void {
    if (this.#isModels) this.#answers = new Map();
    if (this.#isModels) this.#ofPrograms = new Set();
    this.#isModels = false;
  }

  /** The turn that something of the model's belongs to. What is new after results, or after the user, begins another one. */
  #turn(isNew: boolean): OpenTurn {
    this.#isModels = true;
    const last = this.#turns.at(-1);
    if (last && this.#said.length === 0 && !(isNew && last.results.size > 0)) return last;
    const open = last ? [...openOf(last, "tool_call"), ...this.#below.keys(), ...openOf(last, "program_call")] : [];
    if (open.length > 0) throw refused("messages", this.#words.unanswered(open.slice(0, LISTED)));
    const turn = { said: this.#said, text: "", calls: [], results: new Map<string, AskedAnswer>() };
    this.#said = [];
    this.#turns.push(turn);
    return turn;
  }

  #takeId(id: string, place: string): void {
    if (this.#ids.has(id)) throw refused(place, this.#words.repeatedId);
    this.#ids.add(id);
  }
}

function openOf({ calls, results }: AskedTurn, type: ModelCall["type"]): readonly string[] {
  return calls.filter((call) => call.type === type && !results.has(call.id)).map(({ id }) => id);
}
