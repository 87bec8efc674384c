import { childExecution } from "../agent/child-execution.ts";
import { PortcullisError } from "../errors.ts";
import type { ExecutionId } from "../journal/execution-id.ts";
import type { Journal } from "../journal/journal.ts";
import type { CallTexts, CallView } from "./view.ts";
import { viewExecution } from "./view-execution.ts";

/**
 * The whole texts of one call, by the id that `decide` takes: `call_2/3` is call 3 of the program of `call_2`. Rejects with
 * `call_unknown`, and as `viewExecution` does.
 */
export async function viewCall(journal: Journal, execution: ExecutionId, id: string): Promise<CallTexts> {
  const slash = id.indexOf("/");
  if (slash > 0)
    return { ...(await viewCall(journal, childExecution(execution, id.slice(0, slash)), id.slice(slash + 1))), id };
  const whole = { each: Number.MAX_SAFE_INTEGER, all: Number.MAX_SAFE_INTEGER, only: id };
  const { calls, waiting } = await viewExecution(journal, execution, whole);
  const call: Partial<CallView> | undefined =
    calls.find((one) => one.id === id) ?? waiting.find((one) => one.id === id);
  if (!call?.input || call.tool === undefined)
    throw new PortcullisError(
      "call_unknown",
      `Execution ${JSON.stringify(execution)} has no call ${JSON.stringify(id)}. Its calls are listed by: portcullis show`,
    );
  return {
    id,
    tool: call.tool,
    input: call.input.text,
    ...(call.result && { result: call.result.text }),
  };
}
