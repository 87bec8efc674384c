import { useId } from "preact/hooks";
import type { ProgramView } from "../../src/views/view.ts";
import { count, counted, duration } from "../format.ts";
import { Text } from "../text.tsx";

export interface ReplayProps {
  readonly turns: number;
  /** The turn that is shown, from 0; undefined for the end. */
  readonly turn: number | undefined;
  readonly onTurn: (turn: number | undefined) => void;
  /** What happened in the turn that is shown. */
  readonly text: string;
}

/** A slider over the turns: the page shows what was known after the chosen turn. One turn has nothing to choose. */
export function Replay({ turns, turn, onTurn, text }: ReplayProps) {
  const id = useId();
  const last = Math.max(0, turns - 1);
  const at = turn ?? last;
  if (turns < 2) return null;
  return (
    <section class="replay" aria-label="Replay" data-part="replay" data-turn={at + 1}>
      <label for={id}>{turn === undefined ? "Replay" : `Turn ${count(at + 1)} of ${count(turns)}`}</label>
      <input
        id={id}
        type="range"
        min={0}
        max={last}
        value={at}
        aria-valuetext={`turn ${at + 1} of ${turns}. ${text}`}
        onInput={({ currentTarget }) => {
          const chosen = Number(currentTarget.value);
          onTurn(chosen >= last ? undefined : chosen);
        }}
      />
    </section>
  );
}

/** What happened in the turn that is shown, if it is not the end. */
export function ReplayText({ turn, text }: Pick<ReplayProps, "turn" | "text">) {
  return turn === undefined ? null : (
    <p class="replay-text">
      <Text text={text} />
    </p>
  );
}

/** What a program was told in a turn, and what it did then. */
export function turnText({ turns, calls, logs, startedAt }: ProgramView, turn: number): string {
  const shown = turns[turn];
  if (!shown) return "It has not begun.";
  const made = calls.filter((call) => call.made === turn);
  const printed = logs.filter((log) => log.turn === turn).length;
  const tool = calls.find(({ id }) => id === shown.call)?.tool;
  const told = {
    start: "It began.",
    answer: `It was told the answer to call ${shown.call ?? ""}${tool === undefined ? "" : ` of ${tool}`}.`,
    items: `It was handed ${counted(shown.items ?? 0, "item")} of call ${shown.call ?? ""}${tool === undefined ? "" : ` of ${tool}`}, in ${counted(shown.batches ?? 0, "batch", "batches")}.`,
    fire: "A timer of it fired.",
    stop: "It was stopped.",
  }[shown.event];
  const names = made.slice(0, 3).map(({ tool: name }) => name);
  const did =
    made.length === 0
      ? ""
      : ` It made ${counted(made.length, "call")}: ${names.join(", ")}${made.length > 3 ? " …" : ""}.`;
  return `${duration(Math.max(0, shown.at - startedAt))}: ${told}${did}${printed === 0 ? "" : " It printed."}`;
}
