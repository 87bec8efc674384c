import { randomUUID } from "node:crypto";
import { after, cancel, Counts, every, ignore, nextTurn, pause } from "../../base/index.ts";
import type { ApprovalAnswer } from "../../gate/approve/approval.ts";
import type { Asking, McpRequest } from "./request.ts";
import { errorResult, type LinkedResult } from "./result.ts";
import { decisionOf, LatestValue, type Progress, Run, type RunParts } from "./run.ts";
import { Seal } from "./seal.ts";

/** How long a run waits for the next request about it. Then its questions are answered without the client. */
const HELD_MS = 10 * 60 * 1000;
/** Bytes that the calls of a principal may hold, with what each run and each request that waits takes beside its own. */
const MOST_BYTES = 64 * 1024 * 1024;
const RUN_BYTES = 64 * 1024;
const REQUEST_BYTES = 32 * 1024;

const GONE =
  "This call is not waiting any more: it ended, or the server was started again. Nothing was run by this request.";
const NOT_MEANT =
  "The requestState is not one that this server gave for this request, or it is too old. Nothing was run: make the call again without it.";
const TOO_MUCH = `The calls of this client that run or wait already hold ${MOST_BYTES} bytes. Wait for their results, or cancel some.`;
const UNCLEAR: ApprovalAnswer = {
  allow: false,
  note: "The input is too long to be shown whole to the client's user. Make calls with fewer fields or shorter lists.",
};
const CANNOT_ASK: ApprovalAnswer = { allow: false, note: "The client cannot ask its user." };

export interface McpCall extends Omit<RunParts, "id"> {
  /** Bytes of the request that begins the run, which the run holds. */
  readonly bytes: number;
  readonly digest: string;
  /** Id of the run; a new id by default. If the run exists, the request waits for it with the earlier requests. */
  readonly id?: string;
  /** Whether the run ends when the client cancels this request; true by default. */
  readonly owns?: boolean;
  /**
   * Answers a request whose run was over and has been forgotten; by default a sentence does. Without the function a result
   * cannot be collected later, so requests wait as long as the run takes.
   */
  readonly afterwards?: (id: string) => Promise<LinkedResult>;
}

export interface RunsOptions {
  /** Whether calls may wait for a decision from elsewhere, if the client cannot be asked about them. */
  readonly canWait?: boolean;
  /** After this time a request is answered although its run goes on; never by default. */
  readonly patience?: { readonly ms: number; readonly answer: (run: Run) => LinkedResult };
}

/** The calls that clients have made, by any number of requests each. */
export class McpRuns {
  readonly #options: RunsOptions;
  readonly #seal = new Seal();
  /** By principal and id: an id may be chosen by another principal, too. */
  readonly #runs = new Map<string, Run>();
  /** What the runs of principals hold, and the requests that wait for them. */
  readonly #held = new Counts();

  constructor(options: RunsOptions = {}) {
    this.#options = options;
  }

  /** Answers a request by the call's result, or by questions to the client's user; the client then repeats the request. */
  async handle(call: McpCall, request: McpRequest): Promise<LinkedResult> {
    const { asking } = request;
    const release = this.#held.take(call.principal, REQUEST_BYTES, MOST_BYTES);
    if (!release) return errorResult(TOO_MUCH);
    try {
      if (asking.type !== "rounds" || asking.state === undefined) {
        const match = call.id === undefined ? undefined : this.find(call.id, call.principal);
        const run = match ?? this.#start(call);
        return run ? await this.#serve(run, call, request) : errorResult(TOO_MUCH);
      }
      const sealed = this.#seal.open(asking.state, call);
      if (!sealed) return errorResult(NOT_MEANT);
      const run = this.find(sealed.run, call.principal);
      if (!run) return await (call.afterwards?.(sealed.run) ?? errorResult(GONE));
      run.answerRound(sealed.round, asking.responses);
      return await this.#serve(run, call, request);
    } finally {
      release();
    }
  }

  find(id: string, principal: string): Run | undefined {
    return this.#runs.get(keyOf({ id, principal }));
  }

  /** Undefined if the principal's calls hold too much already. */
  #start(call: McpCall): Run | undefined {
    const release = this.#held.take(call.principal, RUN_BYTES + call.bytes, MOST_BYTES);
    if (!release) return undefined;
    const run = new Run({ ...call, id: call.id ?? randomUUID() });
    run.release = release;
    this.#runs.set(keyOf(run), run);
    const forget = () => {
      if (run.isCancelled && run.requests === 0) this.#forget(run);
    };
    void run.result.then(forget, forget);
    return run;
  }

  async #serve(run: Run, call: McpCall, request: McpRequest): Promise<LinkedResult> {
    const { owns = true } = call;
    const { signal } = request;
    const over = new AbortController();
    const leave = () => {
      if (owns) run.cancel(signal?.reason);
      else over.abort(signal?.reason);
    };
    cancel(run.expiry);
    run.requests += 1;
    signal?.addEventListener("abort", leave, { once: true });
    if (signal?.aborted) leave();
    const endNotifying = notifyProgress(run, request);
    try {
      const result = await this.#answer(run, call, request, over.signal);
      signal?.throwIfAborted();
      return result;
    } finally {
      signal?.removeEventListener("abort", leave);
      over.abort();
      run.requests -= 1;
      if (run.requests === 0) this.#hold(run);
      await endNotifying();
    }
  }

  async #answer(run: Run, call: McpCall, { asking }: McpRequest, over: AbortSignal): Promise<LinkedResult> {
    const { canWait = false } = this.#options;
    const patience = call.afterwards && this.#options.patience;
    let isOutOfPatience = false;
    let news = Promise.withResolvers<void>();
    const wake = () => news.resolve();
    // A question to the client's user is no reason to leave: a person answers when they can.
    const timer =
      patience &&
      every(patience.ms, () => {
        isOutOfPatience = run.questions.size === 0 || asking.type === "none";
        if (isOutOfPatience) wake();
      }).unref();
    over.addEventListener("abort", wake, { once: true });
    // A promise of the run itself would keep what each request that has left waited with.
    run.waiting.add(wake);
    try {
      for (;;) {
        news = Promise.withResolvers();
        if (run.questions.size > 0) {
          // Calls that were made at once are asked about at once.
          await nextTurn();
          // A person does not allow at a client what the client cannot show: whoever decides elsewhere sees the whole input.
          for (const { isClear, answer } of run.questions.values()) if (!isClear) answer(canWait ? "later" : UNCLEAR);
          if (asking.type === "rounds" && run.questions.size > 0) return this.#inputRequired(run, call);
          this.#ask(run, asking, over);
        }
        if (run.isOver) return await run.result;
        if (isOutOfPatience && patience) return patience.answer(run);
        await news.promise;
        over.throwIfAborted();
      }
    } finally {
      run.waiting.delete(wake);
      cancel(timer);
    }
  }

  #ask(run: Run, asking: Asking, over: AbortSignal): void {
    for (const question of run.questions.values()) {
      // Another client may have been asked, and answers what this client cannot.
      if (asking.type === "none" && !question.isAsked && question.round === undefined)
        question.answer(this.#options.canWait ? "later" : CANNOT_ASK);
      if (asking.type !== "push" || question.isAsked) continue;
      question.isAsked = true;
      asking.ask(question.elicitation, over).then(
        (response) => question.answer(decisionOf(response)),
        (error: unknown) => {
          question.isAsked = false;
          // The next request about the run asks again.
          if (over.aborted) return;
          if (this.#options.canWait) question.answer("later");
          else question.fail(error);
        },
      );
    }
  }

  /** Keeps a run until the next request about it comes, or `HELD_MS` are over. */
  #hold(run: Run): void {
    if (run.isOver) return this.#forget(run);
    cancel(run.expiry);
    run.expiry = after(HELD_MS, () => this.#expire(run)).unref();
  }

  /** If the client does not come back, the run goes on without the client if it can. */
  #expire(run: Run): void {
    if (run.isOver) return this.#forget(run);
    const { canWait = false } = this.#options;
    const forget = () => this.#forget(run);
    void run.result.then(forget, forget);
    if (canWait || run.questions.size === 0) return run.leave(canWait ? "later" : CANNOT_ASK);
    forget();
    run.cancel(new Error("The client did not answer."));
  }

  #forget(run: Run): void {
    cancel(run.expiry);
    run.release();
    if (this.find(run.id, run.principal) === run) this.#runs.delete(keyOf(run));
  }

  /** The answer to a call that requires input, from protocol 2026-07-28 on. The types of version 1 do not know it. */
  #inputRequired(run: Run, { principal, digest }: McpCall): LinkedResult {
    const { id, questions } = run;
    const round = run.beginRound();
    const entries = [...questions].map(([key, { elicitation }]) => [
      key,
      { method: "elicitation/create", params: { mode: "form", ...elicitation } },
    ]);
    const result = {
      resultType: "input_required",
      inputRequests: Object.fromEntries(entries),
      requestState: this.#seal.seal({ run: id, principal, digest, round }),
    };
    return result as unknown as LinkedResult;
  }
}

function keyOf({ id, principal }: Pick<Run, "id" | "principal">): string {
  return JSON.stringify([principal, id]);
}

/** Longest time between two notifications. Also a busy host tells clients at least every ten seconds. */
const LONGEST_MS = 8000;
/** Shortest time between two notifications: what waits for a slow client must not grow with the number of calls. */
const SHORTEST_MS = 250;

/**
 * Tells the client of a request how far a run has come, until the function is called that this returns. A client that
 * cannot be told still gets its result.
 */
function notifyProgress(run: Run, { notify }: McpRequest): () => Promise<void> {
  if (!notify) return async () => {};
  // Each request has its own value, because several requests may wait for the same run.
  const progress = new LatestValue<Progress>();
  run.watchers.add(progress);
  const timer = every(LONGEST_MS, () => progress.set(run.progress)).unref();
  const ended = Promise.withResolvers<void>();
  const notifyAll = async () => {
    let last = 0;
    for await (const { calls, text } of progress) {
      // The number of a notification must be greater than the previous number, even if no call was made meanwhile.
      last = Math.max(last + 1, calls);
      await notify(last, text).catch(ignore);
      await Promise.race([pause(SHORTEST_MS, { ref: false }), ended.promise]);
    }
  };
  const notified = notifyAll();
  return () => {
    cancel(timer);
    run.watchers.delete(progress);
    progress.end();
    ended.resolve();
    return notified;
  };
}
