import {
  countText,
  type ExecutionId,
  pause,
  PortcullisError,
  type SchemaType,
  hasCode,
  ignore,
} from "../base/index.ts";
import { randomUUID } from "node:crypto";
import type { Report } from "../executions/output/index.ts";
import type { WAITING } from "../executions/outcome.ts";
import type { ResumeOptions } from "../executions/resume-options.ts";
import { RUN_PROGRAM } from "../tools/tool-name.ts";

/** How often a program is looked at that another driver has, in milliseconds. */
const ELSEWHERE_MS = 100;

/** Programs that go on by themselves at once. The others go on when the model asks for what they have come to. */
const MOST = 1000;

/** A handle, also as models wrap it: in quotes, a fence, or a statement. */
const HANDLE =
  /^(?:```\w{0,12}|return\b|await\b|load\b|"?code"?:|[\s"'`({]){0,12}(program_[\da-f-]{36})[\s"'`)};]{0,12}$/i;

/** The part of a runtime that goes on with programs. */
export interface ProgramsHost {
  readonly resume: (execution: ExecutionId, options: ResumeOptions) => Promise<Report>;
  readonly status: (execution: ExecutionId) => Promise<{
    readonly listed: { readonly state: string; readonly records: number };
    readonly report?: Report;
  }>;
  /** Resolves once the journal has more records of an execution. Rejects as the journal does, and once the runtime closes. */
  readonly untilAppended: (execution: ExecutionId, records: number) => Promise<void>;
}

/**
 * Programs of a loop that wait in the journal for people, or clients, that the loop does not know. Each has a handle, which
 * nobody can guess, and goes on by itself once it may.
 */
export function loopPrograms(host: ProgramsHost) {
  /** With their code. */
  const programs = new Map<ExecutionId, string>();
  const goOn = async (id: ExecutionId, options: ResumeOptions) => {
    for (let seen = -1; ;) {
      const { listed } = await host.status(id);
      if (listed.state === "ended") return;
      if (listed.state === "waiting" || listed.records === seen) await host.untilAppended(id, listed.records);
      else {
        await joinRun(() => host.resume(id, options));
        seen = (await host.status(id)).listed.records;
      }
    }
  };
  return {
    newHandle: (): ExecutionId => `program_${randomUUID()}`,
    /** The handle that a model gives in place of code, or that of the same program, which waits: to run it again would ask, and pay, twice. */
    handleIn(code: string): ExecutionId | undefined {
      const text = code.trim();
      const handle = HANDLE.exec(text)?.[1]?.toLowerCase();
      return handle ?? [...programs].find(([, source]) => source !== "" && source === text)?.[0];
    },
    /** Goes on with a program that waits, as often as it may, until it ends. */
    leave(id: ExecutionId, code: string, options: ResumeOptions): void {
      if (programs.has(id) || programs.size >= MOST) return;
      programs.set(id, code.trim());
      goOn(id, options)
        // The next call with the handle tells the model what is wrong.
        .catch(ignore)
        .finally(() => programs.delete(id));
    },
    /** What a program has come to; undefined if there is none with this handle. Rejects as the journal does. */
    async look(id: ExecutionId, options: ResumeOptions): Promise<Report | undefined> {
      const found = await host.status(id).catch((error: unknown) => {
        if (hasCode(error, "execution_unknown")) return undefined;
        throw error;
      });
      if (found?.report && found.listed.state !== "running") return found.report;
      return found && joinRun(() => host.resume(id, options), options.signal);
    },
  };
}

/** For the model: its program waits, and how it gets the result. */
export function waitNotice(id: ExecutionId, { approvals, calls, more = 0 }: SchemaType<typeof WAITING>): string {
  const parts = [
    approvals.length > 0 && `a person to approve ${callsText(approvals)}`,
    calls.length > 0 && `the result of ${callsText(calls)}`,
    more > 0 && countText(more, "further call"),
  ].filter((part) => part !== false);
  return `The program waits for ${parts.join(" and for ")}. Nothing is lost, and it continues by itself once that is there: do not run it again. For its result, call ${RUN_PROGRAM} later with ${JSON.stringify({ code: id })}.`;
}

/** Calls by their number and tools. */
export function callsText(calls: readonly { readonly tool: string }[]): string {
  const names = [...new Set(calls.map(({ tool }) => tool))].join(", ");
  return `${calls.length === 1 ? "a call" : `${calls.length} calls`} of ${names}`;
}

/**
 * What a program has come to, also if a request that came twice has another driver go on with it at the same time: in this
 * process it is joined, in another one it is waited for.
 */
export async function joinRun(attempt: () => Promise<Report>, signal?: AbortSignal | null): Promise<Report> {
  for (;;)
    try {
      return await attempt();
    } catch (error) {
      const { code } = PortcullisError.is(error) ? error : {};
      if (code !== "head_moved" && code !== "execution_driven") throw error;
      await pause(ELSEWHERE_MS, { signal: signal ?? undefined });
      signal?.throwIfAborted();
    }
}
