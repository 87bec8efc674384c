import { type ExecutionId, PortcullisError } from "../../base/index.ts";
import type { Journal } from "../../journal/journal.ts";
import { readHeader } from "../../journal/reading/index.ts";
import type { Header } from "../../journal/record.ts";
import { invalidAt } from "../../executions/from-journal/index.ts";
import type { TextBounds } from "./parts/text-allowance.ts";
import type { CallTexts, CallView, ExecutionView } from "./view.ts";
import { viewConversation } from "./view-conversation.ts";
import { viewHostCall } from "./view-host-call.ts";
import { viewProgram } from "./view-program.ts";
import { startedBy } from "../../conversations/index.ts";

/** What a view holds of texts that grow with an execution, unless its caller says otherwise. */
export const VIEW_BOUNDS: TextBounds = { each: 500, all: 2 * 1024 * 1024 };

/**
 * One execution, conversation or call as its journal tells of it: plain JSON, made in one pass. Inputs and results are
 * shown by their beginnings; `viewCall` gives the whole. Data that only a provider can read is not in it. The caller
 * checks whether the reader may see it. Rejects with `execution_unknown`, `journal_invalid`, and as the journal does.
 */
export async function viewExecution(
  journal: Journal,
  execution: ExecutionId,
  bounds: TextBounds = VIEW_BOUNDS,
): Promise<ExecutionView> {
  const summary = await journal.find(execution);
  const header = await readHeader(journal, execution, summary);
  switch (header?.kind) {
    case "program":
      return viewProgram(journal, summary, header, bounds);
    case "conversation":
      return viewConversation(journal, summary, header, bounds);
    case "call":
      return viewHostCall(journal, summary, header, bounds);
    default:
      throw invalidAt(execution, 0, "it is no header");
  }
}

/**
 * The whole texts of one call, by the id that `decide` takes: `call_2/3` is call 3 of the program of `call_2`. `check` throws
 * for an execution on the way whose calls the reader may not see. Rejects with `call_unknown`, and as `viewExecution` does.
 */
export async function viewCall(
  journal: Journal,
  execution: ExecutionId,
  id: string,
  check: (header: Header) => unknown,
): Promise<CallTexts> {
  const slash = id.indexOf("/");
  if (slash > 0) {
    const header = await startedBy(journal, await journal.find(execution), id.slice(0, slash));
    if (!header) throw callUnknown(execution, id);
    await check(header);
    return { ...(await viewCall(journal, header.execution, id.slice(slash + 1), check)), id };
  }
  const whole = { each: Number.MAX_SAFE_INTEGER, all: Number.MAX_SAFE_INTEGER, only: id };
  const { calls, waiting } = await viewExecution(journal, execution, whole);
  const call: Partial<CallView> | undefined =
    calls.find((one) => one.id === id) ?? waiting.find((one) => one.id === id);
  if (!call?.input || call.tool === undefined) throw callUnknown(execution, id);
  return {
    id,
    tool: call.tool,
    input: call.input.text,
    ...(call.rawInput && { rawInput: call.rawInput.text }),
    ...(call.result && { result: call.result.text }),
  };
}

function callUnknown(execution: ExecutionId, id: string): PortcullisError {
  return new PortcullisError(
    "call_unknown",
    `Execution ${JSON.stringify(execution)} has no call ${JSON.stringify(id)}. Its calls are listed by: runtime.status(${JSON.stringify(execution)})`,
  );
}
