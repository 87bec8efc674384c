import { useMemo, useState } from "preact/hooks";
import type { HostCallView, ProgramView } from "../../src/views/view.ts";
import { callsAt } from "../../src/views/call-groups.ts";
import { Calls } from "../parts/calls.tsx";
import { Funnel } from "../parts/funnel.tsx";
import { Limits } from "../parts/limits.tsx";
import { Logs } from "../parts/logs.tsx";
import { Notes, Output } from "../parts/panels.tsx";
import { Program } from "../parts/program.tsx";
import { Replay, turnText } from "../parts/replay.tsx";

/** All of one program, after the turn that the slider is at. */
export function ProgramPanels({ view }: { readonly view: ProgramView }) {
  const [turn, setTurn] = useState<number>();
  const { turns, startedAt, lastAt, outcome } = view;
  const calls = useMemo(() => (turn === undefined ? view.calls : callsAt(view, turn)), [view.calls, turn]);
  const logs = turn === undefined ? view.logs : view.logs.filter((log) => log.turn <= turn);
  const { outcome: _, ...unended } = view;
  return (
    <div class="panels">
      <Replay turns={turns.length} turn={turn} onTurn={setTurn} text={turnText(view, turn ?? turns.length - 1)} />
      <Program view={turn === undefined ? view : unended} calls={calls} />
      <Calls execution={view.execution} calls={calls} left={view.callsLeft} from={startedAt} until={lastAt} />
      <Funnel funnel={view.funnel} />
      <Limits limits={view.limits} reached={outcome?.limit} />
      <Logs logs={logs} />
      <Output output={turn === undefined ? view.output : undefined} />
      <Notes notes={view.notes} events={view.events} artifacts={view.artifacts} />
    </div>
  );
}

export function HostCallPanels({ view }: { readonly view: HostCallView }) {
  return (
    <div class="panels">
      <Calls execution={view.execution} calls={view.calls} from={view.startedAt} until={view.lastAt} />
      <Funnel funnel={view.funnel} />
      <Output output={view.output} />
      <Notes notes={view.notes} events={view.events} artifacts={view.artifacts} />
    </div>
  );
}
