import { hash, randomUUID } from "node:crypto";
import { NO_SOURCE } from "../../conversations/index.ts";
import { type Counts, fieldOf, type Fields, Lane, PortcullisError, textOf, hasCode } from "../../base/index.ts";
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
import type { ResumeOptions } from "../../executions/resume-options.ts";
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
import { type DecideCommand, programResult, waitingNotes, RESULT_TOOL } from "./program-results.ts";

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
interface RunTarget {
  readonly execution: string;
  /** `ended`: nothing is done if the program has ended. `still`: nor if it waits for decisions or results. */
  readonly unless: "ended" | "still";
}

/** Codes of errors whose message is for the caller. */
const TOLD: ReadonlySet<string> = new Set(["execution_driven", "tools_changed", "option_invalid", "runtime_suspended"]);

interface Door extends DoorCallsParts {
  readonly list: () => ListedTools;
}

export type DoorCalls = ReturnType<typeof doorCalls>;

/** What one principal may do through the door: run programs, search, collect results, call tools. */
export function doorCalls(parts: DoorCallsParts) {
  const { runtime, principal, mcp } = parts;
  let listed: { readonly of: ToolSet; readonly list: ListedTools } | undefined;
  /** Tools may be enabled and disabled while the door is open. */
  const list = () => {
    const of = runtime.enabledTools;
    if (listed?.of !== of) listed = { of, list: listTools(runtime) };
    return listed.list;
  };
  const door: Door = { ...parts, list };
  return {
    tools: (): Promise<readonly ListedTool[]> => list().tools(),
    /**
     * Answers one `tools/call`. Rejects with the protocol's error for a tool that the principal does not have. What fails on
     * the host's side is told to the operator, and the client learns no more than that.
     */
    async call(name: string, input: Fields, mcpRequest: McpRequest): Promise<LinkedResult> {
      // A client that may not decide is not asked.
      const mayDecide = hasScope(principal, "decide");
      const request: McpRequest = mayDecide ? mcpRequest : { ...mcpRequest, asking: { type: "none" } };
      try {
        const own = list().hasPrograms ? OWN.get(name) : undefined;
        return await (own ? own(door, input, request) : callTool(door, name, input, request));
      } catch (error) {
        if (error instanceof mcp.ProtocolError || request.signal?.aborted) throw error;
        return failed(door, error);
      }
    },
  };
}

function failed({ onError }: Door, error: unknown): LinkedResult {
  const isLater = hasCode(error, "busy");
  if (isLater || error instanceof RequestProblem) return errorResult(error.message);
  onError?.(error);
  return errorResult(NOT_RUN);
}

// ---- programs ------------------------------------------------------------------------------------------------

async function runProgram(door: Door, input: Fields, request: McpRequest): Promise<LinkedResult> {
  const { principal, runtime } = door;
  const code = textOf(input, "code");
  if (code === undefined) return errorResult(NO_SOURCE);
  const id = `${idPrefixOf(principal)}${randomUUID()}`;
  const { tenant } = principal;
  const { checkPrograms } = runtime;
  const execute = (work: RunWork) =>
    runtime.execute(code, { id, tenant, checkPrograms, ...workOptions(door, id, work) });
  const start = (work: RunWork) => reported(door, () => inPlace(door, () => execute(work)));
  return handle(door, RUN_PROGRAM, input, request, { id, who: "A program", start });
}

/** The answer to a request about a call, of which the result of a program can be collected later. */
function handle(
  door: Door,
  name: string,
  input: Fields,
  request: McpRequest,
  call: Pick<Parameters<McpRuns["handle"]>[0], "id" | "owns" | "who" | "start">,
): Promise<LinkedResult> {
  const { runs, principal } = door;
  const afterwards = call.id === undefined ? undefined : (id: string) => resumed(door, id, "still");
  return runs.handle({ principal: ownerOf(principal), ...digestOf(name, input), afterwards, ...call }, request);
}

/** Rejects if the principal runs as many as it may. */
async function inPlace<Value>({ principal, atOnce }: Door, work: () => Promise<Value>): Promise<Value> {
  const release = atOnce.take(principal.id, 1, principal.concurrency);
  if (!release)
    throw new RequestProblem(
      "too_many_at_once",
      `This key runs ${principal.concurrency} executions already, its maximum. Nothing was started. Wait for their results, then try again.`,
    );
  try {
    return await work();
  } finally {
    release();
  }
}

function workOptions(door: Door, execution: string, { signal, approve, onProgress }: RunWork) {
  const tell = toProgress(execution, onProgress);
  const onEvent = (event: ExecutionEvent) => {
    door.onEvent?.(event);
    tell(event);
  };
  return { signal, approve: door.approve ?? approve, onEvent };
}

// ---- results -------------------------------------------------------------------------------------------------

/** The result of a program that was started before: here, or before this process. */
async function result(door: Door, input: Fields, request: McpRequest): Promise<LinkedResult> {
  const { principal, runs, runtime, readings } = door;
  const execution = textOf(input, "execution");
  if (execution === undefined) {
    const list = () => listExecutionsOf(runtime, principal, runs);
    return textResult(cleanJson(JSON.stringify(await readings.run(principal.id, request.signal, list))));
  }
  if (!execution.startsWith(idPrefixOf(principal))) return unknownExecution(execution);
  const run = runs.find(execution, ownerOf(principal));
  if (fieldOf(input, "cancel") === true) {
    const reason = new Error("The client cancelled it.");
    // Nothing of a program runs that does not run here.
    if (!run) return resumed(door, execution, "ended", { signal: AbortSignal.abort(reason), approve: () => "later" });
    run.cancel(reason);
  }
  // A program that waits goes on if it was decided about, or if someone can be asked now. If not, nothing is run anew: the
  // program is reported, or goes on by itself.
  const asks = door.approve !== undefined || request.asking.type !== "none";
  const start = (work: RunWork) => {
    const { approve, ...options } = workOptions(door, execution, work);
    return resumed(door, execution, asks ? "ended" : "still", asks ? { ...options, approve } : options, asks);
  };
  return handle(door, RESULT_TOOL, input, request, { id: execution, owns: false, who: "A program", start });
}

/** The report of a program that goes on if it is to: without options nothing of it runs, and nothing is asked. */
function resumed(
  door: Door,
  execution: string,
  unless: RunTarget["unless"],
  options: ResumeOptions = {},
  takesPlace = false,
): Promise<LinkedResult> {
  const { runtime, principal, onEvent } = door;
  const { tenant } = principal;
  const resume = () => runtime.execution(execution, { tenant }).resume({ onEvent, ...options });
  return reported(door, () => (takesPlace ? inPlace(door, resume) : resume()), { execution, unless });
}

/** The result of work on a program, or what the journal tells of it if there is nothing to do. */
async function reported(door: Door, run: () => Promise<Report>, target?: RunTarget): Promise<LinkedResult> {
  try {
    return (target && (await readResult(door, target))) ?? (await resultOf(door, await run()));
  } catch (error) {
    if (hasCode(error, "execution_unknown")) return unknownExecution(target?.execution ?? "");
    if (PortcullisError.is(error) && TOLD.has(error.code)) return errorResult(error.message);
    return failed(door, error);
  }
}

/** Undefined for a program that needs work. Programs are read in turn: each may hold as much as its calls and its value. */
async function readResult(door: Door, { execution, unless }: RunTarget): Promise<LinkedResult | undefined> {
  const { runtime, principal, readings } = door;
  const { tenant } = principal;
  const found = await findIfKnown(runtime.journal, execution);
  if (!found || drivenHere(runtime.journal, execution)) return undefined;
  if (unless === "ended" && !found.ended) return undefined;
  return readings.run(principal.id, undefined, async () => {
    const { report } = await runtime.execution(execution, { tenant }).status();
    return report && resultOf(door, report);
  });
}

async function resultOf({ runtime, principal, kept, decideCommand }: Door, report: Report): Promise<LinkedResult> {
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

async function search({ runtime, principal, readings }: Door, input: Fields, request: McpRequest) {
  const { id, tenant } = principal;
  const { signal } = request;
  const asked = { tool: SEARCH_TOOLS, caller: "programmatic", input, tenant, signal } as const;
  // Searches that all begin at once end at once, after the last.
  const answer = await readings.run(id, signal, () => runtime.call(asked));
  return answer.ok ? textResult(cleanJson(JSON.stringify(answer.value))) : errorResult(answer.message);
}

/** The door's own tools. */
const OWN: ReadonlyMap<string, (door: Door, input: Fields, request: McpRequest) => Promise<LinkedResult>> = new Map([
  [RUN_PROGRAM, runProgram],
  [SEARCH_TOOLS, search],
  [RESULT_TOOL, result],
]);

async function callTool(door: Door, name: string, input: Fields, request: McpRequest): Promise<LinkedResult> {
  // Under such names the gate has the global functions of programs, which are no tools of a client.
  if (isOfFunction(name)) throw unknownTool(door, toolUnknown(name, undefined));
  const { runtime, principal } = door;
  const { idempotencyKey: key } = request;
  const call = ({ signal, approve }: RunWork) =>
    runtime.call({
      tool: door.list().toolNamed(name),
      caller: "direct",
      input,
      tenant: principal.tenant,
      gather: true,
      signal,
      // No client's key is another's.
      idempotencyKey: key && hash("sha256", `${ownerOf(principal)}\n${key}`),
      approve: door.approve ?? approve,
    });
  const start = async (work: RunWork) => answered(door, name, await inPlace(door, () => call(work)));
  return handle(door, name, input, request, { who: "The model", start });
}

async function answered(door: Door, name: string, answer: CallAnswer): Promise<LinkedResult> {
  const { runtime, principal, kept } = door;
  if (!answer.ok && answer.code === "tool_unknown") throw unknownTool(door, answer);
  // The tool exists for other callers, and the host is told so. For a client it does not exist.
  if (!answer.ok && answer.code === "caller_not_allowed") {
    const tool = door.list().toolNamed(name);
    throw unknownTool(door, toolUnknown(tool, runtime.tools.nearestName(tool, "direct")));
  }
  return directResult(answer, {
    outputBytes: runtime.limits.outputBytes,
    lane: new Lane(principal.tenant),
    keep: (text) => kept.keep(principal, `Result of ${name.slice(0, 128)}`, text),
  });
}

function unknownTool({ mcp }: Door, { message }: { readonly message: string }): Error {
  return new mcp.ProtocolError(mcp.ProtocolErrorCode.InvalidParams, message);
}

/** The same sentence for a program that never was, is not kept any more, or is another principal's. */
function unknownExecution(execution: string): LinkedResult {
  return errorResult(
    `There is no program ${JSON.stringify(execution.slice(0, 128))}, or it is not kept any more. The tool ${RESULT_TOOL} without input lists the latest.`,
  );
}

/** Tells how far a program has come: its own calls, as those of agents are none of its client's. */
function toProgress(execution: string, tell: (progress: Progress) => void): (event: ExecutionEvent) => void {
  const seen = { call_started: 0, call_ended: 0 };
  let latest = "";
  return (event) => {
    if (event.execution !== execution || (event.type !== "call_started" && event.type !== "call_ended")) return;
    seen[event.type] += 1;
    // A call that is refused has any name, and no tool.
    if (event.type === "call_started") latest = `, the latest ${event.tool}`;
    const done = seen.call_ended;
    // A call that is refused ends without having started.
    const calls = Math.max(seen.call_started, done);
    tell({ calls, text: `${done} of ${calls} calls done${latest}.` });
  };
}
