import { hash, randomUUID } from "node:crypto";
import { NO_SOURCE } from "../../conversations/index.ts";
import { byteText, type Counts, fieldOf, type Fields, Lane, PortcullisError, textOf } from "../../base/index.ts";
import type { Approve } from "../../gate/approve/approval.ts";
import type { CallAnswer } from "../../gate/call-tool.ts";
import { toolUnknown } from "../../gate/sentences.ts";
import {
  digestOf,
  errorResult,
  type LinkedResult,
  type McpRequest,
  type McpRuns,
  type Progress,
  type RunWork,
  textResult,
} from "../../executions/mcp-runs/index.ts";
import { cleanJson, type Report } from "../../executions/output/index.ts";
import type { ExecutionEvent } from "../../executions/event.ts";
import { drivenHere } from "../../executions/driven.ts";
import { RUN_PROGRAM, SEARCH_TOOLS, isOfFunction } from "../../tools/tool-name.ts";
import { returnedText } from "../../executions/from-journal/index.ts";
import type { Runtime } from "../../runtime/create-runtime.ts";
import type { ToolSet } from "../../tools/tool-set.ts";
import { findIfKnown } from "../../journal/reading/index.ts";
import type { LinkedValues } from "../linked-values.ts";
import { RequestProblem } from "../http/problems.ts";
import type { Readings } from "../readings.ts";
import { hasScope, idPrefixOf, ownerOf, type Principal } from "../principal.ts";
import { directResult } from "./direct-results.ts";
import { listExecutionsOf } from "./list-executions.ts";
import { listTools, type ListedTool, type ListedTools } from "./listed-tools.ts";
import type { ServerPackage } from "./load-server.ts";
import { type DecideCommand, programResult, waitingNotes, RESULT } from "./program-results.ts";

export interface DoorCallsParts {
  readonly mcp: ServerPackage;
  /** The runtime with the tools of the principal. */
  readonly runtime: Runtime;
  readonly principal: Principal;
  readonly runs: McpRuns;
  readonly kept: LinkedValues;
  readonly atOnce: Counts;
  readonly readings: Readings;
  /** Decides calls that need approval, in place of the client's user. */
  readonly approve?: Approve | undefined;
  /** The command that decides a call, if decisions reach the journal from outside. Without it, nothing can wait. */
  readonly decideCommand?: DecideCommand | undefined;
  /** Told of what failed on the host's side. */
  readonly onError?: (error: unknown) => void;
  /** Told of what happens in programs, as for those of other doors. */
  readonly onEvent?: ((event: ExecutionEvent) => void) | undefined;
}

const NOT_RUN = "The host could not run this. The cause is an error of the host, not of the call.";

/** A program that may need no more than to be read. */
interface Known {
  readonly execution: string;
  /** `ended`: nothing is done if the program has ended. `still`: nor if it waits for decisions or results. */
  readonly unless: "ended" | "still";
}

/** Codes of errors whose message is for the caller. */
const TOLD: ReadonlySet<string> = new Set([
  "execution_driven",
  "tools_changed",
  "option_invalid",
  "busy",
  "runtime_suspended",
]);

/** What one principal may do through the door: run programs, search, collect results, call tools. */
export class DoorCalls {
  readonly #parts: DoorCallsParts;
  readonly #lane: Lane;
  /** The door's own tools. */
  readonly #own: ReadonlyMap<string, (input: Fields, request: McpRequest) => Promise<LinkedResult>>;
  #listed: { readonly of: ToolSet; readonly list: ListedTools } | undefined;

  constructor(parts: DoorCallsParts) {
    this.#parts = parts;
    this.#lane = new Lane(parts.principal.tenant);
    this.#own = new Map([
      [RUN_PROGRAM, (input, request) => this.#runProgram(input, request)],
      [SEARCH_TOOLS, (input, request) => this.#search(input, request)],
      [RESULT, (input, request) => this.#result(input, request)],
    ]);
  }

  tools(): Promise<readonly ListedTool[]> {
    return this.#list.tools();
  }

  /**
   * Answers one `tools/call`. Rejects with the protocol's error for a tool that the principal does not have. What fails on
   * the host's side is told to the operator, and the client learns no more than that.
   */
  async call(name: string, input: Fields, given: McpRequest): Promise<LinkedResult> {
    // A client that may not decide is not asked.
    const mayDecide = hasScope(this.#parts.principal, "decide");
    const request: McpRequest = mayDecide ? given : { ...given, asking: { type: "none" } };
    try {
      const own = this.#list.hasPrograms ? this.#own.get(name) : undefined;
      return await (own ? own(input, request) : this.#callTool(name, input, request));
    } catch (error) {
      if (error instanceof this.#parts.mcp.ProtocolError || request.signal?.aborted) throw error;
      return this.#failed(error);
    }
  }

  /** Tools may be enabled and disabled while the door is open. */
  get #list(): ListedTools {
    const { runtime } = this.#parts;
    const of = runtime.enabledTools;
    if (this.#listed?.of !== of) this.#listed = { of, list: listTools(runtime) };
    return this.#listed.list;
  }

  #failed(error: unknown): LinkedResult {
    if (error instanceof RequestProblem) return errorResult(error.message);
    this.#parts.onError?.(error);
    return errorResult(NOT_RUN);
  }

  // ---- programs ------------------------------------------------------------------------------------------------

  #runProgram(input: Fields, request: McpRequest): Promise<LinkedResult> {
    const { principal, runs, runtime } = this.#parts;
    const code = textOf(input, "code");
    if (code === undefined) return Promise.resolve(errorResult(NO_SOURCE));
    const execution = `${idPrefixOf(principal)}${randomUUID()}`;
    const { tenant } = principal;
    const { checkPrograms } = runtime;
    const execute = (work: RunWork) =>
      runtime.execute(code, { id: execution, tenant, checkPrograms, ...this.#workOptions(execution, work) });
    return runs.handle(
      {
        id: execution,
        principal: ownerOf(principal),
        ...digestOf(RUN_PROGRAM, input),
        who: "A program",
        start: (work) => this.#reported(() => this.#inPlace(() => execute(work))),
        afterwards: (id) => this.#collected(id),
      },
      request,
    );
  }

  /** Rejects with `busy` if the principal runs as many as it may. */
  async #inPlace<Value>(work: () => Promise<Value>): Promise<Value> {
    const { principal, atOnce } = this.#parts;
    const release = atOnce.take(principal.id, 1, principal.concurrency);
    if (!release)
      throw new PortcullisError(
        "busy",
        `This key runs ${principal.concurrency} executions already, its maximum. Nothing was started. Wait for their results, then try again.`,
      );
    try {
      return await work();
    } finally {
      release();
    }
  }

  #workOptions(execution: string, { signal, approve, onProgress }: RunWork) {
    const tell = toProgress(execution, onProgress);
    const onEvent = (event: ExecutionEvent) => {
      this.#parts.onEvent?.(event);
      tell(event);
    };
    return { signal, approve: this.#parts.approve ?? approve, onEvent };
  }

  // ---- results -------------------------------------------------------------------------------------------------

  /** The result of a program that was started before: here, or before this process. */
  async #result(input: Fields, request: McpRequest): Promise<LinkedResult> {
    const { principal, runs, runtime, readings } = this.#parts;
    const execution = textOf(input, "execution");
    if (execution === undefined) {
      const list = () => listExecutionsOf(runtime, principal, runs);
      return textResult(cleanJson(JSON.stringify(await readings.run(principal.id, request.signal, list))));
    }
    if (!execution.startsWith(idPrefixOf(principal))) return unknownExecution(execution);
    const run = runs.find(execution, ownerOf(principal));
    if (fieldOf(input, "cancel") === true) {
      if (!run) return this.#ended(execution);
      run.cancel(new Error("The client cancelled it."));
    }
    const known: Known = { execution, unless: this.#asks(request) ? "ended" : "still" };
    return runs.handle(
      {
        id: execution,
        principal: ownerOf(principal),
        ...digestOf(RESULT, input),
        who: "A program",
        owns: false,
        start: (work) => this.#reported(() => this.#resume(execution, work, request), known),
        afterwards: (id) => this.#collected(id),
      },
      request,
    );
  }

  /** A program that waits goes on if it was decided about, or if the client's user can be asked now. */
  #resume(execution: string, work: RunWork, request: McpRequest): Promise<Report> {
    const { runtime, principal } = this.#parts;
    const { approve, ...options } = this.#workOptions(execution, work);
    const asks = this.#asks(request);
    const resume = () =>
      runtime.execution(execution, { tenant: principal.tenant }).resume({ ...options, ...(asks ? { approve } : {}) });
    // If no user can be asked, nothing is run anew: the program is reported, or goes on by itself.
    return asks ? this.#inPlace(resume) : resume();
  }

  /** Whether someone can be asked now. */
  #asks({ asking }: McpRequest): boolean {
    return this.#parts.approve !== undefined || asking.type !== "none";
  }

  /** The report of a program that does not run here. Nothing of it runs, and nothing is asked. */
  #collected(execution: string): Promise<LinkedResult> {
    const { runtime, principal } = this.#parts;
    const read = () => runtime.execution(execution, { tenant: principal.tenant }).resume();
    return this.#reported(read, { execution, unless: "still" });
  }

  /** Ends a program that does not run here, and reports a program that has ended. Nothing of it runs. */
  #ended(execution: string): Promise<LinkedResult> {
    const { runtime, principal, onEvent } = this.#parts;
    const { tenant } = principal;
    const signal = AbortSignal.abort(new Error("The client cancelled it."));
    const options = { signal, approve: () => "later" as const, ...(onEvent && { onEvent }) };
    return this.#reported(() => runtime.execution(execution, { tenant }).resume(options), {
      execution,
      unless: "ended",
    });
  }

  /** The result of work on a program, or what the journal tells of it if there is nothing to do. */
  async #reported(run: () => Promise<Report>, known?: Known): Promise<LinkedResult> {
    const { execution = "" } = known ?? {};
    try {
      return (known && (await this.#told(known))) ?? (await this.#resultOf(await run()));
    } catch (error) {
      if (PortcullisError.is(error) && error.code === "execution_unknown") return unknownExecution(execution);
      if (PortcullisError.is(error) && TOLD.has(error.code)) return errorResult(error.message);
      return this.#failed(error);
    }
  }

  /** Undefined for a program that needs work. Programs are read in turn: each may hold as much as its calls and its value. */
  async #told({ execution, unless }: Known): Promise<LinkedResult | undefined> {
    const { runtime, principal, readings } = this.#parts;
    const { tenant } = principal;
    const found = await findIfKnown(runtime.journal, execution);
    if (!found || drivenHere(runtime.journal, execution)) return undefined;
    if (unless === "ended" && !found.ended) return undefined;
    return readings.run(principal.id, undefined, async () => {
      const { report } = await runtime.execution(execution, { tenant }).status();
      return report && this.#resultOf(report);
    });
  }

  async #resultOf(report: Report): Promise<LinkedResult> {
    const { runtime, principal, kept, decideCommand } = this.#parts;
    const { execution, output } = report;
    const notes = waitingNotes(
      report,
      decideCommand && ((call, answer) => decideCommand(execution, call, principal.tenant, answer)),
    );
    if (output.cut?.valueBytes === undefined) return programResult(report, notes);
    const text = await returnedText(runtime.journal, execution);
    const value = text === undefined ? undefined : kept.keep(principal, `Value of ${execution}`, text);
    return programResult(report, notes, value);
  }

  // ---- calls ---------------------------------------------------------------------------------------------------

  async #search(input: Fields, { signal }: McpRequest): Promise<LinkedResult> {
    const { runtime, principal, readings } = this.#parts;
    const { id, tenant } = principal;
    const asked = { tool: SEARCH_TOOLS, caller: "programmatic", input, tenant, ...(signal ? { signal } : {}) } as const;
    // Searches that all begin at once end at once, after the last.
    const answer = await readings.run(id, signal, () => runtime.call(asked));
    return answer.ok ? textResult(cleanJson(JSON.stringify(answer.value))) : errorResult(answer.message);
  }

  #callTool(name: string, input: Fields, request: McpRequest): Promise<LinkedResult> {
    const { principal, runs } = this.#parts;
    // Under such names the gate has the global functions of programs, which are no tools of a client.
    if (isOfFunction(name)) throw this.#unknown(toolUnknown(name, undefined).message);
    return runs.handle(
      {
        principal: ownerOf(principal),
        ...digestOf(name, input),
        who: "The model",
        start: async (work) => {
          try {
            return this.#answered(name, await this.#inPlace(() => this.#callOnce(name, input, request, work)));
          } catch (error) {
            if (PortcullisError.is(error) && error.code === "busy") return errorResult(error.message);
            throw error;
          }
        },
      },
      request,
    );
  }

  #callOnce(name: string, input: Fields, request: McpRequest, { signal, approve }: RunWork): Promise<CallAnswer> {
    const { runtime, principal, approve: given } = this.#parts;
    const { idempotencyKey: key } = request;
    return runtime.call({
      tool: this.#list.toolNamed(name),
      caller: "direct",
      input,
      tenant: principal.tenant,
      gather: true,
      signal,
      // No client's key is another's.
      ...(key === undefined ? {} : { idempotencyKey: hash("sha256", `${ownerOf(principal)}\n${key}`) }),
      approve: given ?? approve,
    });
  }

  async #answered(name: string, answer: CallAnswer): Promise<LinkedResult> {
    const { runtime, principal, kept } = this.#parts;
    if (!answer.ok && answer.code === "tool_unknown") throw this.#unknown(answer.message);
    // The tool exists for other callers, and the host is told so. For a client it does not exist.
    if (!answer.ok && answer.code === "caller_not_allowed") {
      const tool = this.#list.toolNamed(name);
      throw this.#unknown(toolUnknown(tool, runtime.tools.nearestName(tool, "direct")).message);
    }
    return directResult(answer, {
      outputBytes: runtime.limits.outputBytes,
      lane: this.#lane,
      keep: (text) => kept.keep(principal, `Result of ${name.slice(0, 128)}`, text),
    });
  }

  #unknown(message: string): Error {
    const { ProtocolError: McpError, ProtocolErrorCode: codes } = this.#parts.mcp;
    return new McpError(codes.InvalidParams, message);
  }
}

/** The same sentence for a program that never was, is not kept any more, or is another principal's. */
function unknownExecution(execution: string): LinkedResult {
  return errorResult(
    `There is no program ${JSON.stringify(execution.slice(0, 128))}, or it is not kept any more. The tool ${RESULT} without input lists the latest.`,
  );
}

/** Tells how far a program has come: its own calls, as those of agents are none of its client's, and the bytes that it was given. */
function toProgress(execution: string, tell: (progress: Progress) => void): (event: ExecutionEvent) => void {
  let [started, done, bytes, last] = [0, 0, 0, ""];
  const streams = new Map<string, number>();
  return (event) => {
    if (event.execution !== execution) return;
    if (event.type === "call_started") {
      started += 1;
      last = `, the latest ${event.tool}`;
    } else if (event.type === "call_ended") {
      done += 1;
      bytes += event.bytes;
      streams.delete(event.callId);
    } else if (event.type === "call_streamed") streams.set(event.callId, event.bytes);
    else return;
    // A call that is refused ends without having started.
    const calls = Math.max(started, done);
    const received = streams.values().reduce((sum, open) => sum + open, bytes);
    tell({ calls, text: `${done} of ${calls} calls done, ${byteText(received)} received${last}.` });
  };
}
