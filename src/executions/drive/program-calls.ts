/*
 * The calls of a program between its driver and the gate. A call command goes to the gate; its answer, and the batches of
 * its stream, come back as events for the guest.
 */
import type { GuestFrame } from "../../../bridge/frames.ts";
import type { UnmadeCall } from "../../gate/call-ledger.ts";
import type { CallRequest } from "../../gate/open-call.ts";
import type { GateSession } from "../../gate/session.ts";
import type { Batch, StreamReader } from "../../gate/streams/stream-reader.ts";
import { memoryOf } from "../../base/index.ts";
import { isAnswered } from "../from-journal/call-history.ts";
import {
  type ExecutionState,
  NOTHING_STREAMED,
  type RecordedOpenCall,
  PROGRAM_APPROVAL,
} from "../from-journal/execution-state.ts";
import type { TrackedLog } from "../from-journal/tracked-log.ts";
import { answerEvent, type GuestEvent, itemsEvent } from "../guest/guest-event.ts";
import type { Ending } from "../outcome.ts";
import type { Limits } from "../limits.ts";
import type { Scope } from "../scope.ts";
import { defineTool } from "../../tools/define-tool.ts";
import { jsonSchema } from "../../tools/schema.ts";
import { RUN_PROGRAM } from "../../tools/tool-name.ts";
import type { FirstEnding } from "./ending/first-ending.ts";
import type { CallAtEnd } from "./ending/settlement.ts";

interface CallsParts {
  readonly scope: Scope;
  readonly log: TrackedLog;
  readonly session: GateSession;
  readonly end: FirstEnding;
  readonly push: (event: GuestEvent) => void;
  /** The guest's clock, as the next event carries it. */
  readonly now: () => number;
}

export type ProgramCalls = ReturnType<typeof callsOf>;

export function callsOf({ scope, log, session, end, push, now }: CallsParts) {
  const open = log.state.calls;
  const isStream = (tool: string) => scope.gate.tools.get(tool)?.stream === true;
  const giveItems = (id: number, batch: Batch): void => {
    if (!end.stopping && open.has(id)) return push(itemsEvent(now(), id, batch, log.keepsItems(batch.body)));
    session.noteRead(String(id), batch.heldBytes);
    session.share.giveBack(batch.heldBytes);
  };
  /** `past` is what the journal says of a call that the last driver has left open. */
  const make = (
    { id, tool, inputText, artifact, inputBytes }: RecordedOpenCall & Pick<CallRequest, "inputBytes">,
    past?: RecordedOpenCall,
  ): void => {
    const reader = isStream(tool) ? readerOf(open.get(id), (batch) => giveItems(id, batch)) : undefined;
    const request = { callId: String(id), tool, inputText, artifact, inputBytes, reader };
    session.call({ ...request, caller: "programmatic" }, past).then(
      (answer) => {
        if (!answer || end.stopping) return;
        if (open.has(id)) push(answerEvent(now(), id, answer));
        // The program has stopped reading the stream meanwhile.
        else session.share.giveBack(session.noteRead(String(id), answer.ok ? 0 : memoryOf(answer.message)));
      },
      (error: unknown) => end.fail(error),
    );
  };
  return {
    /** `inputBytes` is what the body takes in UTF-8, if that is known. */
    begin: ({ id, tool, name: artifact, body }: GuestFrame & { readonly kind: "call" }, inputBytes?: number): void =>
      make({ id, tool, inputText: body, artifact, inputBytes }),

    continueOpen: (): void => {
      for (const call of open.values()) make(call, call);
    },

    noteUnmade: ({ id, tool, started, streamed }: Omit<RecordedOpenCall, "inputText">): void => {
      const identity: UnmadeCall["identity"] = { callId: String(id), tool, caller: "programmatic" };
      session.noteUnmade({ identity, started: started === true, streamed });
    },

    /** The calls without an answer. Of a stream the guest notes whether the program has read it. */
    listOpen: (): readonly CallAtEnd[] =>
      [...open.values()].filter((call) => !isAnswered(call) && !isStream(call.tool)),

    stopReading: (id: number): void => {
      session.stopReading(String(id)).catch((error: unknown) => end.fail(error));
    },
  };
}

/** The program is handed a batch in the turn that the state counts it in. The state forgets a call once it has ended. */
function readerOf(call: RecordedOpenCall | undefined, take: StreamReader["take"]): StreamReader {
  return {
    take,
    get handed() {
      return call?.streamed ?? NOTHING_STREAMED;
    },
  };
}

/** Holds a program that needs approval until it is decided about. Resolves with its ending if it may not start. */
export async function approveProgram(
  { own: program, turns }: ExecutionState,
  session: GateSession,
  { waitMs }: Limits,
): Promise<Ending | undefined> {
  if (!program || turns > 0) return undefined;
  const { tool, inputText } = program;
  const request = { callId: PROGRAM_APPROVAL, tool, caller: "programmatic", inputText } as const;
  const answer = await session.callOf(PROGRAM, request, program);
  if (!answer || answer.ok) return undefined;
  return notStarted(answer.code, answer.message, program.decision?.note, waitMs);
}

/** The program's approval goes through the gate as a call of this tool. The handler does nothing: the program starts after the call. */
const PROGRAM = defineTool({
  name: RUN_PROGRAM,
  description: "Runs the program",
  inputSchema: jsonSchema({
    type: "object",
    properties: { source: { type: "string" }, language: { type: "string" } },
    required: ["source", "language"],
  }),
  allowedCallers: ["programmatic"],
  effect: "read",
  approval: "always",
  execute: () => true,
});

/** The note is the approver's text. It is quoted as JSON, so that it cannot be mistaken for the runtime's own sentences. */
function notStarted(code: string, message: string, note = "", waitMs = 0): Ending {
  const sentences: Readonly<Record<string, string>> = {
    approval_denied: `It needs approval, and approval was denied.${note === "" ? "" : ` Reason given: ${JSON.stringify(note)}`}`,
    approval_expired: `It needs approval, and no decision came within ${waitMs} ms (limit waitMs).`,
    approval_unavailable: "It needs approval, and approval is not available here.",
  };
  const why = sentences[code] ?? message;
  const fault = { name: "ProgramError", code, tool: RUN_PROGRAM, message: `The program was not started. ${why}` };
  return { type: "failed", fault };
}
