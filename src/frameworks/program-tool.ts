import { RESULTS_PROMPT } from "../conversations/prompt/instructions.ts";
import { NO_SOURCE, type ProgramDeclarations } from "../conversations/index.ts";
import { RUN_PROGRAM } from "../tools/tool-name.ts";
import { type ExecutionId, PortcullisError, textOf } from "../base/index.ts";
import { PROGRAM_SCHEMA } from "../models/turn/index.ts";
import type { CallAnswer } from "../gate/call-tool.ts";
import type { Approve } from "../gate/approve/approval.ts";
import type { ToolDeclaration } from "../models/model.ts";
import { cleanJson, type Report } from "../executions/output/index.ts";
import { SEARCH_INPUT } from "../tools/search/index.ts";
import { LatestValue, type Progress } from "../executions/mcp-runs/index.ts";
import type { ExecuteOptions } from "../executions/execute-options.ts";
import type { ExecutionEvent } from "../executions/event.ts";
import type { WaitingApproval } from "../executions/outcome.ts";
import type { JournalRecord } from "../journal/record.ts";
import type { ToolSet } from "../tools/tool-set.ts";
import { type ProgramsHost, loopPrograms, waitNotice } from "./loop-programs.ts";

/** The part of a runtime that runs programs for another package's loop. */
export interface ProgramHost extends ProgramsHost {
  readonly tools: ToolSet;
  readonly tenant: string;
  /** What models are told of programs and of the search among tools now: it grows by what results were like. */
  readonly programs: () => ProgramDeclarations;
  /** Whether the runtime has an `approve` of its own. */
  readonly approves: boolean;
  readonly execute: (program: string, options: ExecuteOptions) => Promise<Report>;
  readonly records: (execution: ExecutionId) => Promise<readonly JournalRecord[]>;
  /** A call that waits for a person, also one that a report has no room to list; undefined if it does not wait. */
  readonly approval: (execution: ExecutionId, callId: string) => Promise<WaitingApproval | undefined>;
  /** Makes one call of the search among tools. */
  readonly search: (input: unknown, context: unknown, signal: AbortSignal | undefined) => Promise<CallAnswer>;
}

export interface RunOptions {
  readonly signal?: AbortSignal | null | undefined;
  /** Decides about calls if the host gave no `approve`. */
  readonly approve?: Approve;
  readonly onProgress?: (progress: Progress) => void;
}

/** A tool as the files of the loops read it: its declaration, and how a call of it ends. */
export interface LoopTool {
  readonly name: string;
  readonly description: string;
  readonly schema: WritableSchema;
  /** Whether each field of the schema is required, as strict function calls of OpenAI demand. */
  readonly isStrict: boolean;
  /** Resolves with the text for the model. Rejects with `program_failed` or `tool_failed` if the call failed. */
  readonly run: (input: unknown, options: RunOptions) => Promise<string>;
}

/** Other packages take lists that may be written to. Their types allow further fields, which an interface would not have. */
export type WritableSchema = {
  type: "object";
  properties: Record<string, { type: string; description: string }>;
  required: string[];
  additionalProperties: false;
};

const writable = (schema: object) => structuredClone(schema) as WritableSchema;

/** Runs a tool. A slow reader gets only the latest progress. The progress ends with the run. */
export function runWithProgress(
  tool: Pick<LoopTool, "run">,
  input: unknown,
  signal: AbortSignal | undefined,
): { readonly running: Promise<string>; readonly progress: AsyncIterable<string> } {
  const progress = new LatestValue<string>();
  const running = tool.run(input, { signal, onProgress: ({ text }) => progress.set(text) });
  const end = () => progress.end();
  running.then(end, end);
  return { running, progress };
}

const NOT_RUN = "The program could not be run. The cause is an error of the host, and the program is not to blame.";

const NO_PROGRAM = "There is no program with this handle, and none was run.";

export type ProgramTool = ReturnType<typeof programTool>;

/** `run_program` as all loops share it: its declaration, and how a call of it ends. */
export function programTool(host: ProgramHost, { approve, context }: Pick<ExecuteOptions, "approve" | "context">) {
  const own = { approve, context };
  const programs = loopPrograms(host);
  return {
    name: RUN_PROGRAM,
    schema: writable(PROGRAM_SCHEMA),
    isStrict: true,
    /** The tools of the runtime; each runtime has a set of its own. */
    tools: host.tools,
    /** Whether each tool that programs may call only reads. */
    onlyReads: host.tools.visibleTo(["programmatic"]).every(({ effect }) => effect === "read"),
    get description() {
      return `${host.programs().runProgram.description}\n\n${RESULTS_PROMPT}`;
    },
    /**
     * Runs the program of a call's input, `{ code }`, and resolves with the text for the model. If the program waits, the text
     * has a handle: `{ code: handle }` tells later what it has come to. Rejects with `program_failed` if the program did not
     * complete, with the signal's reason if that cancelled it, and with `program_not_run` if the host could not run it.
     */
    async run(input: unknown, { signal, approve: ofLoop, onProgress }: RunOptions): Promise<string> {
      const code = codeOf(input);
      signal?.throwIfAborted();
      const handle = programs.handleIn(code);
      const execution = handle ?? programs.newHandle();
      const options = {
        ...own,
        // If the host decides about approvals, the loop's own means must not.
        approve: approve ?? (host.approves ? undefined : ofLoop),
        signal: signal ?? undefined,
        onEvent: progressOf(execution, onProgress),
      };
      const running =
        handle === undefined ? host.execute(code, { id: execution, ...options }) : programs.look(handle, options);
      const report = await running.catch(notRun);
      if (!report) throw new PortcullisError("program_failed", NO_PROGRAM);
      if (report.outcome.type !== "waiting") return textOfReport(report, signal);
      programs.leave(report.execution, handle === undefined ? code : "", own);
      return waitNotice(report.execution, report.outcome);
    },
  };
}

/** `search_tools` as all loops share it. `call` makes one call of it. */
export function callSearch(
  { name, description }: ToolDeclaration,
  call: (input: unknown, signal: AbortSignal | undefined) => Promise<CallAnswer>,
): LoopTool {
  return {
    name,
    description: `${description}\n\n${RESULTS_PROMPT}`,
    schema: writable(SEARCH_INPUT),
    isStrict: false,
    async run(input, { signal }) {
      signal?.throwIfAborted();
      const answer = await call(input ?? null, signal ?? undefined);
      if (answer.ok) return cleanJson(JSON.stringify(answer.value));
      signal?.throwIfAborted();
      throw new PortcullisError("tool_failed", answer.message);
    },
  };
}

/** Tells of each call that a program begins. */
export function progressOf(execution: ExecutionId, onProgress: RunOptions["onProgress"]) {
  let calls = 0;
  return (event: ExecutionEvent): void => {
    if (event.type !== "call_started" || event.execution !== execution) return;
    calls += 1;
    onProgress?.({ calls, text: `Call ${calls}: ${event.tool}` });
  };
}

/** Whether an error tells the model why its call of a loop's tool has failed. */
export function isFailure(error: unknown): error is PortcullisError {
  return PortcullisError.is(error) && (error.code === "program_failed" || error.code === "tool_failed");
}

/** The text for the model. Throws `program_failed` if the program did not complete, and the signal's reason if that cancelled it. */
export function textOfReport({ outcome, output }: Report, signal: RunOptions["signal"]): string {
  if (outcome.type === "cancelled") signal?.throwIfAborted();
  if (output.isError) throw new PortcullisError("program_failed", output.text, { cause: outcome });
  return output.text;
}

/** The host could not run a program. The model is not told why. */
export function notRun(cause: unknown): never {
  throw new PortcullisError("program_not_run", NOT_RUN, { cause });
}

/** The source in a call's input. Loops check the input themselves, but not all of them by its schema. */
export function codeOf(input: unknown): string {
  const code = textOf(input, "code");
  if (code === undefined) throw new PortcullisError("program_failed", NO_SOURCE);
  return code;
}
