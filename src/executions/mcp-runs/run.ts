import { countOf, fieldOf, ignore, insetText, type Timer } from "../../base/index.ts";
import type { ApprovalAnswer, ApprovalDecision, ApprovalRequest, Approve } from "../../gate/approve/approval.ts";
import type { Elicitation } from "./request.ts";
import { callAbout } from "../output/call-about.ts";
import { shownInput } from "../output/input-text.ts";
import type { LinkedResult } from "./result.ts";

/** How far a run has come. */
export interface Progress {
  /** Calls of tools that were started so far. It grows with each progress. */
  readonly calls: number;
  /** For people: the latest call. */
  readonly text: string;
}

export interface RunWork {
  readonly signal: AbortSignal;
  readonly approve: Approve;
  readonly onProgress: (progress: Progress) => void;
}

export interface RunParts {
  readonly id: string;
  readonly principal: string;
  /** Who asks, in questions to the user: `A program`. */
  readonly who: string;
  readonly start: (work: RunWork) => Promise<LinkedResult>;
}

interface Question {
  readonly elicitation: Elicitation;
  /** Whether the question shows all that a person has to know to allow the call. */
  readonly isClear: boolean;
  readonly answer: (answer: ApprovalAnswer) => void;
  readonly fail: (error: unknown) => void;
  /** Whether a request of the client is asking it. */
  isAsked: boolean;
  /** The first round that gave the question to a client. */
  round: number | undefined;
}

/** A call that a client made, from its first request to its end. It goes on between the requests about it. */
export class Run {
  readonly id: string;
  readonly principal: string;
  readonly result: Promise<LinkedResult>;
  readonly questions = new Map<string, Question>();
  readonly watchers = new Set<LatestValue<Progress>>();
  /** Called when a question was asked, and at the end. */
  readonly waiting = new Set<() => void>();
  requests = 0;
  isOver = false;
  /** Set while no request waits for it. */
  expiry: Timer | undefined;
  /** Gives back what it holds. */
  release = ignore;
  readonly #who: string;
  readonly #cancel = new AbortController();
  #rounds = 0;
  progress: Progress = { calls: 0, text: "It has begun." };
  /** The answer to all questions once the client is given up. */
  #standIn: ApprovalAnswer | undefined;

  constructor({ id, principal, who, start }: RunParts) {
    this.id = id;
    this.principal = principal;
    this.#who = who;
    this.result = start({
      signal: this.#cancel.signal,
      approve: (request) => this.#standIn ?? this.#ask(request),
      onProgress: (progress) => {
        this.progress = progress;
        for (const watcher of this.watchers) watcher.set(progress);
      },
    }).finally(() => {
      this.isOver = true;
      this.#wake();
    });
    // Between two requests, nothing waits for the result.
    this.result.catch(ignore);
  }

  get isCancelled(): boolean {
    return this.#cancel.signal.aborted;
  }

  cancel(reason: unknown): void {
    this.#cancel.abort(reason);
  }

  /** Answers all questions in place of the client's user, later questions too. */
  leave(answer: ApprovalAnswer): void {
    this.#standIn = answer;
    for (const question of this.questions.values()) question.answer(answer);
  }

  /** Begins a round: the client gets all questions, and answers them with the number that this returns. */
  beginRound(): number {
    this.#rounds += 1;
    for (const question of this.questions.values()) question.round ??= this.#rounds;
    return this.#rounds;
  }

  /** Takes a client's answers of a round. They answer the questions of that round alone. */
  answerRound(round: number, responses: Readonly<Record<string, unknown>>): void {
    for (const [key, question] of this.questions)
      if (question.round !== undefined && question.round <= round && Object.hasOwn(responses, key))
        question.answer(decisionOf(responses[key]));
  }

  /** A question ends with its call. */
  #ask(request: ApprovalRequest): Promise<ApprovalAnswer> {
    const { callId, signal } = request;
    const { promise, resolve, reject } = Promise.withResolvers<ApprovalAnswer>();
    // Calls of agents below, and questions of one handler, may have one id.
    let key = callId;
    for (let n = 2; this.questions.has(key); n += 1) key = `${callId}.${n}`;
    const over = () => void this.questions.delete(key);
    this.questions.set(key, {
      ...elicitationFor(request, this.#who),
      answer: (answer) => {
        over();
        resolve(answer);
      },
      fail: (error) => {
        over();
        reject(error instanceof Error ? error : new Error("The client did not answer.", { cause: error }));
      },
      isAsked: false,
      round: undefined,
    });
    signal.addEventListener("abort", over, { once: true });
    this.#wake();
    return promise;
  }

  #wake(): void {
    for (const wake of this.waiting) wake();
  }
}

/** Hands values from a producer to a slower consumer, which gets only the latest value: values do not accumulate. */
export class LatestValue<Value> {
  #value: { readonly value: Value } | undefined;
  #ended = false;
  #wake = ignore;

  set(value: Value): void {
    this.#value = { value };
    this.#wake();
  }

  end(): void {
    this.#ended = true;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Value, void> {
    for (;;) {
      const next = this.#value;
      this.#value = undefined;
      if (next) yield next.value;
      else if (this.#ended) return;
      else {
        const { promise, resolve } = Promise.withResolvers<void>();
        this.#wake = resolve;
        await promise;
      }
    }
  }
}

/** Further calls that one answer allows at most. */
const MOST_MORE = 1_000_000;

function elicitationFor(
  {
    tool,
    grantsLeft,
    ...about
  }: Pick<
    ApprovalRequest,
    "tool" | "input" | "rawInput" | "effect" | "source" | "description" | "policy" | "grants" | "grantsLeft"
  >,
  who: string,
): Pick<Question, "elicitation" | "isClear"> {
  const more = { type: "integer", minimum: 0, title: `Allow so many more calls of ${tool}, with any input` };
  const { text, isWhole } = shownInput(about);
  const elicitation = {
    message: `${who} asks to call ${tool} with this input:\n${text}\n${insetText(callAbout({ ...about, tool }))}`,
    requestedSchema: {
      type: "object",
      properties: {
        // Not required: who accepts the form without it has not allowed the call, and has made no mistake.
        allow: { type: "boolean", title: `Allow this call of ${tool}`, default: false },
        ...(grantsLeft > 0 && { more }),
      },
    },
  };
  return { elicitation, isClear: isWhole };
}

/** A call is allowed only by an accepted form that says `allow: true`. */
export function decisionOf(response: unknown): ApprovalDecision {
  const content = fieldOf(response, "action") === "accept" ? fieldOf(response, "content") : undefined;
  const allow = fieldOf(content, "allow") === true;
  const more = countOf(content, "more");
  return {
    allow,
    by: "the user of the MCP client",
    ...(allow && more > 0 && { grant: { calls: Math.min(more, MOST_MORE) } }),
  };
}
