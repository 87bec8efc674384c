import { useMemo, useState } from "preact/hooks";
import { timeOf } from "../../src/views/timeline.ts";
import type { HostCallView, ProgramView } from "../../src/views/view.ts";
import { useSource } from "../data/use-source.ts";
import { Funnel } from "../parts/funnel.tsx";
import { useHasRun } from "../parts/has-run.ts";
import { Limits } from "../parts/limits.tsx";
import { Logs } from "../parts/logs.tsx";
import { Notes, Output } from "../parts/panels.tsx";
import { Program } from "../parts/program.tsx";
import { Replay, ReplayText, turnText } from "../parts/replay.tsx";
import { Pair } from "../parts/section.tsx";
import { callsAt } from "../../src/views/call-groups.ts";
import { Calls } from "../timeline/calls.tsx";

/** All of one program, after the turn that the slider is at. */
export function ProgramPanels({ view }: { readonly view: ProgramView }) {
  const [turn, setTurn] = useState<number>();
  const isGrowing = useHasRun(view);
  // Nothing comes any more of what has not come, so its place goes.
  const mayCome = isGrowing && view.state !== "ended";
  const { turns } = view;
  const { isLive } = useSource();
  const time = useMemo(() => timeOf(view, isLive ? Date.now() : view.lastAt), [view]);
  const calls = useMemo(() => (turn === undefined ? view.calls : callsAt(view, turn)), [view.calls, turn]);
  const logs = turn === undefined ? view.logs : view.logs.filter((log) => log.turn <= turn);
  const { outcome: _, ...unended } = view;
  const isReplay = turn !== undefined;
  const text = turnText(view, turn ?? turns.length - 1);
  return (
    <div class={`panels ${isGrowing ? "growing" : ""}`}>
      <Funnel funnel={view.funnel} isKept={mayCome} />
      <Pair>
        <Output output={isReplay ? undefined : view.output} isKept={mayCome || isReplay} hasPrinted={logs.length > 0} />
        <Logs logs={logs} isKept={mayCome || view.logs.length > 0} />
      </Pair>
      <Program view={isReplay ? unended : view} calls={calls} isGrowing={isGrowing} />
      <Calls
        execution={view.execution}
        calls={calls}
        events={view.events}
        left={view.callsLeft}
        {...time}
        kept={view.calls.length === 0 && !mayCome ? 0 : isGrowing ? GROWING_ROWS : 1}
        aside={<Replay turns={turns.length} turn={turn} onTurn={setTurn} text={text} />}
      >
        <ReplayText turn={turn} text={text} />
      </Calls>
      <Limits view={view} />
      <Notes view={view} />
    </div>
  );
}

/** Rows of calls whose place is kept while a program runs. */
const GROWING_ROWS = 3;

export function HostCallPanels({ view }: { readonly view: HostCallView }) {
  return (
    <div class="panels">
      <Output output={view.output} title="Its result" />
      <Calls
        execution={view.execution}
        calls={view.calls}
        events={view.events}
        from={view.startedAt}
        until={view.lastAt}
        kept={0}
      />
      <Notes view={view} />
    </div>
  );
}
