import type { GateSession } from "../../gate/session.ts";
import { leavesOpen } from "../../journal/execution-log.ts";
import { defineTool } from "../../tools/define-tool.ts";
import { jsonSchema } from "../../tools/schema.ts";
import { PROGRAM_CALL } from "../from-journal/execution-state.ts";
import { RUN_PROGRAM } from "../../tools/tool-name.ts";
import { endingCancelled } from "./ending/endings.ts";
import type { Ending } from "../outcome.ts";
import type { Scope } from "../scope.ts";
import type { TrackedLog } from "../from-journal/tracked-log.ts";
import { standingOf, waitingIn } from "../from-journal/standing.ts";

/** The program's approval goes through the gate as a call of this tool. The handler does nothing: the program starts after the call. */
const PROGRAM = defineTool({
  name: RUN_PROGRAM,
  description: "Runs the program",
  input: jsonSchema({
    type: "object",
    properties: { source: { type: "string" }, language: { type: "string" } },
    required: ["source", "language"],
  }),
  allowedCallers: ["programmatic"],
  effect: "read",
  approval: "always",
  handler: () => true,
});

/**
 * Holds a program that needs approval until it is decided about. Resolves with undefined if it may start. Otherwise
 * closes the session and resolves with the ending. Rejects if the journal does, or if another driver has taken the
 * execution over.
 */
export async function approveProgram(
  { signal, limits }: Scope,
  log: TrackedLog,
  session: GateSession,
): Promise<Ending | undefined> {
  const { state } = log;
  const { own: program } = state;
  if (!program || state.turns > 0) return undefined;
  const ended = Promise.withResolvers<Ending>();
  const onAbort = () =>
    leavesOpen(signal.reason) ? ended.reject(signal.reason) : ended.resolve(endingCancelled(signal.reason));
  session.onWaiting = () => {
    const waiting = waitingIn(standingOf(state, true), state);
    if (waiting) ended.resolve(waiting);
  };
  log.onFenced = (error) => ended.reject(error);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  const { tool, inputText } = program;
  const request = { callId: PROGRAM_CALL, tool, caller: "programmatic", inputText } as const;
  try {
    const deciding = session.callOf(PROGRAM, request, program).then(async (answer): Promise<Ending | undefined> => {
      if (!answer) return ended.promise;
      return answer.ok ? undefined : notStarted(answer.code, answer.message, program.decision?.note, limits.waitMs);
    });
    const ending = await Promise.race([ended.promise, deciding]);
    if (ending?.type === "waiting") session.suspend();
    else if (ending) session.close();
    return ending;
  } catch (error) {
    session.close();
    throw error;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** The note is the approver's text. It is quoted as JSON, so that it cannot be mistaken for the runtime's own sentences. */
function notStarted(code: string, message: string, note = "", waitMs = 0): Ending {
  const why =
    code === "approval_denied"
      ? `It needs approval, and approval was denied.${note === "" ? "" : ` Reason given: ${JSON.stringify(note)}`}`
      : code === "approval_expired"
        ? `It needs approval, and no decision came within ${waitMs} ms (limit waitMs).`
        : code === "approval_unavailable"
          ? "It needs approval, and approval is not available here."
          : message;
  const fault = { name: "ProgramError", code, tool: RUN_PROGRAM, message: `The program was not started. ${why}` };
  return { type: "failed", fault };
}
