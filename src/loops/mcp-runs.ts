import { randomUUID } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { PortcullisError } from "../errors.ts";
import type { ApprovalDecision, ApprovalRequest, Approve } from "../gate/approval.ts";
import { cleanJson } from "../output/clean-json.ts";
import { INSET, insetText } from "../output/foreign-text.ts";
import type { ToolSet } from "../tools/tool-set.ts";
import { cutMiddle } from "../values/cut-middle.ts";
import { Latest } from "./latest.ts";
import { type Elicitation, type McpRequest, readRequest } from "./mcp-request.ts";
import { errorResult, type McpResult, textResult } from "./mcp-result.ts";
import type { Progress, ProgramTool } from "./program-tool.ts";

/** How long a program waits for its request to be repeated with answers. Then it is cancelled and forgotten. */
const HELD_MS = 10 * 60 * 1000;

/** Bytes of an input that a user is shown. */
const SHOWN_BYTES = 2048;

const GONE =
  "This program is not waiting any more: it ended, or the server was started again. Nothing was run by this request.";
const OTHER_PROGRAM =
  "The server was not answered by an approval: this request is for another program. Nothing was run.";

interface Question {
  readonly elicitation: Elicitation;
  readonly answer: (decision: ApprovalDecision) => void;
}

/** A program that a client started, from its first request to its end. */
interface Run {
  readonly id: string;
  readonly code: string;
  readonly result: Promise<McpResult>;
  readonly questions: Map<string, Question>;
  /** The request that waits at the moment. */
  request: McpRequest;
  progress: Latest<Progress>;
  onQuestion: () => void;
  /** Runs between two requests. */
  expiry: NodeJS.Timeout | undefined;
  readonly cancel: AbortController;
}

/** Programs that wait for a repeated request, by runtime. A server may be made anew, with its tools, for each request. */
const heldRuns = new WeakMap<ToolSet, Map<string, Run>>();

/** The programs of one MCP tool. One that asks its client's user is held between the requests of that call. */
export class McpRuns {
  readonly #program: ProgramTool;
  readonly #held: Map<string, Run>;

  constructor(program: ProgramTool) {
    this.#program = program;
    this.#held = heldRuns.get(program.tools) ?? new Map<string, Run>();
    heldRuns.set(program.tools, this.#held);
  }

  async handle(code: string, context: object): Promise<McpResult> {
    const request = readRequest(context);
    const { asking } = request;
    if (asking.type !== "rounds" || asking.state === undefined) return this.#serve(this.#start(code, request), request);
    const run = typeof asking.state === "string" ? this.#held.get(asking.state) : undefined;
    if (!run) return errorResult(GONE);
    if (run.code !== code) return errorResult(OTHER_PROGRAM);
    for (const [callId, { answer }] of run.questions)
      if (Object.hasOwn(asking.responses, callId)) {
        run.questions.delete(callId);
        answer(decisionOf(asking.responses[callId]));
      }
    return this.#serve(run, request);
  }

  #start(code: string, request: McpRequest): Run {
    const cancel = new AbortController();
    const running = this.#program.run(
      { code },
      {
        signal: cancel.signal,
        approve: (approval) => ask(run, approval),
        onProgress: (progress) => run.progress.set(progress),
      },
    );
    const run: Run = {
      id: randomUUID(),
      code,
      result: running.then(textResult, failureOf),
      questions: new Map(),
      request,
      progress: new Latest(),
      onQuestion: () => {},
      expiry: undefined,
      cancel,
    };
    // Between two requests of a call, no request waits for the result.
    run.result.catch(() => {});
    return run;
  }

  /** Answers a request: by the program's result, or by the questions to the client's user that it waits for. */
  async #serve(run: Run, request: McpRequest): Promise<McpResult> {
    const { signal } = request;
    const cancel = () => run.cancel.abort(signal?.reason);
    clearTimeout(run.expiry);
    run.request = request;
    run.progress = new Latest();
    signal?.addEventListener("abort", cancel, { once: true });
    if (signal?.aborted) cancel();
    const notified = notifyAll(run.progress, request);
    try {
      const result = await resultOrQuestions(run);
      signal?.throwIfAborted();
      if (result) this.#held.delete(run.id);
      else this.#hold(run);
      return result ?? inputRequired(run);
    } finally {
      signal?.removeEventListener("abort", cancel);
      run.progress.end();
      await notified;
    }
  }

  #hold(run: Run): void {
    this.#held.set(run.id, run);
    // A client may repeat a request that is still being served, and both may be answered by questions.
    clearTimeout(run.expiry);
    run.expiry = setTimeout(() => {
      this.#held.delete(run.id);
      run.cancel.abort(new Error("The client did not answer."));
    }, HELD_MS).unref();
  }
}

/** Undefined when the program waits for answers to its questions. A question ends with its call. */
async function resultOrQuestions(run: Run): Promise<McpResult | undefined> {
  for (;;) {
    const asked = Promise.withResolvers<void>();
    run.onQuestion = asked.resolve;
    if (run.questions.size > 0) asked.resolve();
    // Calls that were made at once are asked about at once.
    const waiting = asked.promise.then(() => setImmediate<undefined>());
    const result = await Promise.race([run.result, waiting]);
    if (result || run.questions.size > 0) return result;
  }
}

/** Asks the client's user in the way of the request that waits. Without one, the call is denied. */
function ask(run: Run, { callId, tool, input, signal }: ApprovalRequest): ReturnType<Approve> {
  const { asking } = run.request;
  const elicitation = elicitationFor(tool, input);
  if (asking.type === "push") return asking.ask(elicitation, signal).then(decisionOf);
  if (asking.type === "none") return { allow: false, note: "The client cannot ask its user." };
  return new Promise((answer) => {
    run.questions.set(callId, { elicitation, answer });
    signal.addEventListener("abort", () => run.questions.delete(callId), { once: true });
    run.onQuestion();
  });
}

function elicitationFor(tool: string, input: unknown): Elicitation {
  const shown = cutMiddle(insetText(cleanJson(JSON.stringify(input))), SHOWN_BYTES, INSET);
  return {
    message: `A program asks to call ${tool} with this input:\n${shown}`,
    requestedSchema: {
      type: "object",
      properties: { allow: { type: "boolean", title: `Allow this call of ${tool}` } },
      required: ["allow"],
    },
  };
}

/** Only an accepted form that says `allow: true` allows. */
function decisionOf(response: unknown): ApprovalDecision {
  const content = own(response, "action") === "accept" ? own(response, "content") : undefined;
  return { allow: own(content, "allow") === true, by: "the user of the MCP client" };
}

function own(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;
}

/** Sends progress until it ends. A client that cannot be told still gets its result. */
async function notifyAll(progress: Latest<Progress>, { notify }: McpRequest): Promise<void> {
  for await (const { calls, text } of progress) await notify?.(calls, text).catch(() => {});
}

function failureOf(error: unknown): McpResult {
  if (PortcullisError.is(error) && error.code === "program_failed") return errorResult(error.message);
  throw error;
}

/** The answer to a call that requires input, from protocol 2026-07-28 on. The types of version 1 do not know it. */
function inputRequired({ id, questions }: Run): McpResult {
  const entries = [...questions].map(([callId, { elicitation }]) => [
    callId,
    { method: "elicitation/create", params: { mode: "form", ...elicitation } },
  ]);
  const result = { resultType: "input_required", inputRequests: Object.fromEntries(entries), requestState: id };
  return result as unknown as McpResult;
}
