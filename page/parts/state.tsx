import type { ExecutionView } from "../../src/serve/views/view.ts";
import { stateText } from "../../src/serve/views/words.ts";
import { Text } from "../text.tsx";

export interface StateProps {
  readonly state: string;
  readonly driven?: boolean | undefined;
  readonly needs?: ExecutionView["needs"] | undefined;
  /** Type of the ending. */
  readonly outcome?: string | undefined;
  /** Changes of it are announced. */
  readonly isLive?: boolean;
}

/** The state of an execution, in a word and a colour. */
export function State({ state, driven, needs, outcome, isLive = false }: StateProps) {
  const kind = state === "running" && driven === false ? "undriven" : state;
  return (
    <span class={`state ${kind} ${outcome ?? ""}`} role={isLive ? "status" : undefined}>
      <Text text={stateText({ state, driven, needs, outcome })} />
    </span>
  );
}
