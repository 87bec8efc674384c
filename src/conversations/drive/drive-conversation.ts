import { leavesOpen } from "../../journal/execution-log.ts";
import { whileDriven } from "../../executions/driven.ts";
import type { AgentReport } from "../agent-report.ts";
import type { WorkEnd } from "../../gate/telemetry/telemetry.ts";
import type { AgentEnding } from "../ending.ts";
import type { LiveConversation } from "./live-conversation.ts";
import { SayLoop } from "./say-loop.ts";

export interface Driving {
  readonly interrupt?: AbortSignal;
  /** The driver keeps the conversation after an ending, for what the user says next. */
  readonly keeps?: boolean;
  /** A failure of the host leaves the conversation open, for the next driver. */
  readonly staysOpen?: boolean;
}

/** Drives a conversation until it ends or waits. Rejects if the journal or the sandbox fails, or it is taken over. */
export function driveConversation<Answer = string>(
  live: LiveConversation,
  driving: Driving = {},
): Promise<AgentReport<Answer>> {
  const { keeps = false } = driving;
  return whileDriven(
    live.scope.journal,
    live.log,
    inLoop(live, driving, async (loop) => {
      const ending = await loop.untilEnding();
      await (ending.type === "waiting" ? wait(live, loop, ending, keeps) : end(live, loop, ending, keeps));
      return loop.report<Answer>(ending);
    }),
  );
}

/** Runs the work of one loop, and leaves the conversation in order whatever comes of it. */
export async function inLoop<Value>(
  live: LiveConversation,
  { interrupt, keeps = false, staysOpen = keeps }: Driving,
  work: (loop: SayLoop) => Promise<Value>,
): Promise<Value> {
  // When one of several calls makes the conversation reject, the other programs end too.
  const over = new AbortController();
  const { scope, log } = live;
  const signal = AbortSignal.any([scope.signal, over.signal, ...(interrupt ? [interrupt] : [])]);
  log.onFenced = (error) => over.abort(error);
  const span = live.takeSpan();
  const drive = async () => {
    const loop = new SayLoop(live, { ...scope, signal }, span);
    const onAbort = () => loop.stop();
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    try {
      const value = await work(loop);
      await span?.end(endOfConversation(loop.ending));
      return value;
    } catch (error) {
      await abandon(live, loop, error, staysOpen);
      await span?.end({ outcome: "broken_off", code: "broken_off" });
      throw error;
    } finally {
      over.abort();
    }
  };
  return span ? span.run(drive) : drive();
}

async function wait(
  { log, scope, execution }: LiveConversation,
  loop: SayLoop,
  ending: AgentEnding & { readonly type: "waiting" },
  keeps: boolean,
): Promise<void> {
  loop.suspend();
  if (!keeps) await log.end(false);
  scope.onEvent({ type: "conversation_waiting", execution, waiting: ending });
}

async function end(live: LiveConversation, loop: SayLoop, ending: AgentEnding, keeps: boolean): Promise<void> {
  const { log, scope, execution, parts } = live;
  await loop.close();
  // Nothing goes on with what a key has begun that holds no more.
  if (parts.rests && !("code" in ending)) {
    await live.rest(ending);
    if (!keeps) await log.end(false);
    scope.onEvent({ type: "conversation_resting", execution, ending });
  } else {
    await live.endWith(ending);
    scope.onEvent({ type: "conversation_ended", execution, ending });
  }
}

/**
 * Records an outcome, so that the journal does not show the conversation as running. It stays open if it may go on
 * elsewhere: another driver has it, its developer holds it, or it was taken up and came no further here.
 */
async function abandon(live: LiveConversation, loop: SayLoop, error: unknown, staysOpen: boolean): Promise<void> {
  if (leavesOpen(error) || live.state.drivers.isTakenUp || staysOpen) {
    loop.suspend(error instanceof Error ? error : undefined);
    await live.log.end(false);
  } else await live.breakOff(error);
}

/** Endings without a code: the model has answered, or the conversation goes on later. */
const GOOD: ReadonlySet<string> = new Set(["answered", "stopped", "waiting"]);

/** `ending` is missing after one turn alone, whose calls are for the host to answer. */
function endOfConversation(ending: AgentEnding | undefined): WorkEnd {
  if (!ending) return { outcome: "turn" };
  if (GOOD.has(ending.type)) return { outcome: ending.type };
  const code = ending.type === "provider_failed" ? ending.failure.code : ending.type;
  return { outcome: ending.type, code };
}
