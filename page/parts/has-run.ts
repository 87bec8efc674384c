import { useRef } from "preact/hooks";
import type { ExecutionView } from "../../src/serve/views/view.ts";

/** Whether an execution has run since the page shows it: what comes has its place, so that nothing moves. */
export function useHasRun({ state, driven }: Pick<ExecutionView, "state" | "driven">): boolean {
  const hasRun = useRef(false);
  hasRun.current ||= state === "running" && driven;
  return hasRun.current;
}
