import type { ExecutionId } from "../journal/execution-id.ts";
import type { Journal } from "../journal/journal.ts";
import { invalidAt } from "../programs/history.ts";
import { headerOf } from "../programs/once.ts";
import type { TextBounds } from "./text-room.ts";
import type { ExecutionView } from "./view.ts";
import { viewConversation } from "./view-conversation.ts";
import { viewHostCall } from "./view-host-call.ts";
import { viewProgram } from "./view-program.ts";

/** What a view holds of texts that grow with an execution, unless its caller says otherwise. */
const VIEW_BOUNDS: TextBounds = { each: 500, all: 2 * 1024 * 1024 };

/**
 * One execution, conversation or call as its journal tells of it: plain JSON, made in one pass. Inputs and results are
 * shown by their beginnings; `viewCall` gives the whole. What only a provider can read is not in it. Whether the reader may
 * see it is the caller's to check. Rejects with `execution_unknown`, `journal_invalid`, and as the journal does.
 */
export async function viewExecution(
  journal: Journal,
  execution: ExecutionId,
  bounds: TextBounds = VIEW_BOUNDS,
): Promise<ExecutionView> {
  const summary = await journal.find(execution);
  const header = await headerOf(journal, execution);
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
