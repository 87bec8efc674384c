import { useMemo } from "preact/hooks";
import { timeOf } from "../../src/serve/views/timeline.ts";
import type { HostCallView, ProgramView } from "../../src/serve/views/view.ts";
import { Funnel } from "../parts/funnel.tsx";
import { useHasRun } from "../parts/has-run.ts";
import { Limits } from "../parts/limits.tsx";
import { Logs } from "../parts/logs.tsx";
import { Notes, Output } from "../parts/panels.tsx";
import { Program } from "../parts/program.tsx";
import { Pair } from "../parts/section.tsx";
import { Calls } from "../timeline/calls.tsx";

/** All of one program. */
export function ProgramPanels({ view }: { readonly view: ProgramView }) {
  const isGrowing = useHasRun(view);
  // Nothing comes any more of what has not come, so its place goes.
  const mayCome = isGrowing && view.state !== "ended";
  const time = useMemo(() => timeOf(view, Date.now()), [view]);
  const { calls, logs } = view;
  return (
    <div class={`panels ${isGrowing ? "growing" : ""}`}>
      <Funnel funnel={view.funnel} isKept={mayCome} />
      <Pair>
        <Output output={view.output} isKept={mayCome} hasPrinted={logs.length > 0} />
        <Logs logs={logs} isKept={mayCome || logs.length > 0} />
      </Pair>
      <Program view={view} calls={calls} isGrowing={isGrowing} />
      <Calls
        execution={view.execution}
        calls={calls}
        left={view.callsLeft}
        {...time}
        kept={calls.length === 0 && !mayCome ? 0 : isGrowing ? GROWING_ROWS : 1}
      />
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
      <Calls execution={view.execution} calls={view.calls} from={view.startedAt} until={view.lastAt} kept={0} />
      <Notes view={view} />
    </div>
  );
}
