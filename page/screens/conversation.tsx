import { useState } from "preact/hooks";
import type { CallView, ConversationView, ModelTurnView, ProgramCallView, SaidView } from "../../src/views/view.ts";
import { callText, RESTS, turnText } from "../../src/views/words.ts";
import { useExecution } from "../data/use-source.ts";
import { bytes, duration } from "../format.ts";
import { CallDetails } from "../timeline/call-details.tsx";
import { callsAt } from "../../src/views/call-groups.ts";
import { Funnel } from "../parts/funnel.tsx";
import { Limits } from "../parts/limits.tsx";
import { Notes, Output } from "../parts/panels.tsx";
import { Problem } from "../parts/problem.tsx";
import { Replay, ReplayText } from "../parts/replay.tsx";
import { TextBlock } from "../parts/text-block.tsx";
import { linkTo } from "../route.ts";
import { Text } from "../text.tsx";
import { ProgramPanels } from "./program.tsx";

/** One conversation: its turns, with their direct calls and programs inside. */
export function ConversationPanels({ view }: { readonly view: ConversationView }) {
  const [turn, setTurn] = useState<number>();
  const { turns, said, task, rests, outcome } = view;
  const shown = turn === undefined ? turns : turns.slice(0, turn + 1);
  const calls = new Map(
    (turn === undefined ? view.calls : callsAt({ calls: view.calls, turns: [] }, turn)).map((call) => [call.id, call]),
  );
  const at = turn ?? turns.length - 1;
  return (
    <div class="panels">
      <Replay
        turns={turns.length}
        turn={turn}
        onTurn={setTurn}
        text={turns[at] ? turnText(turns[at]) : "The model has not answered yet."}
      />
      <ReplayText turn={turn} text={turns[at] ? turnText(turns[at]) : "The model has not answered yet."} />
      <section class="section turns" aria-label="Turns" data-count={turns.length}>
        <h2>Turns</h2>
        <ol>
          {task !== "" && (
            <li class="said user">
              <b>The task</b>
              <TextBlock head={{ text: task, bytes: task.length }} name="The task" />
            </li>
          )}
          {shown.map((one, index) => (
            <Turn key={index} view={view} turn={one} number={index + 1} calls={calls} isLast={index === turn} />
          ))}
          {turn === undefined && said.map((one, index) => <Said key={index} said={one} />)}
          {turn === undefined && rests && <li class="hint">{RESTS}</li>}
        </ol>
      </section>
      <Funnel funnel={view.funnel} />
      <Limits view={view} />
      {outcome?.fault && (
        <p class="fault">
          <b>
            <Text text={outcome.fault.code ?? outcome.fault.name} />
          </b>{" "}
          <Text text={outcome.fault.message} />
        </p>
      )}
      <Output output={turn === undefined ? view.output : undefined} />
      <Notes view={view} />
    </div>
  );
}

interface TurnProps {
  readonly view: ConversationView;
  readonly turn: ModelTurnView;
  readonly number: number;
  readonly calls: ReadonlyMap<string, CallView>;
  /** Whether the replay is at this turn: results of its calls are not there yet. */
  readonly isLast: boolean;
}

function Turn({ view, turn, number, calls, isLast }: TurnProps) {
  return (
    <>
      {turn.said.map((one, index) => (
        <Said key={index} said={one} />
      ))}
      <li class="turn" data-turn={number}>
        <header>
          <b>Turn {number}</b> <small>{turnText(turn)}</small>
          {turn.model !== view.model && (
            <small>
              {" "}
              by <Text text={turn.model} />
            </small>
          )}
        </header>
        {turn.text.text !== "" && <TextBlock head={turn.text} name={`Text of turn ${number}`} />}
        {turn.calls.map((id) => {
          const call = calls.get(id);
          return call && <DirectCall key={id} execution={view.execution} call={call} />;
        })}
        {turn.programs.map((program) => (
          <NestedProgram key={program.id} program={program} isLast={isLast} />
        ))}
      </li>
    </>
  );
}

function Said({ said }: { readonly said: SaidView }) {
  return (
    <li class={`said ${said.by}`}>
      <b>{said.by === "user" ? "The user" : "The host"}</b>
      <TextBlock head={said.text} name={`Said by the ${said.by}`} />
    </li>
  );
}

function DirectCall({ execution, call }: { readonly execution: string; readonly call: CallView }) {
  const { id, tool, state, ms, bytes: size } = call;
  const [isOpen, setOpen] = useState(false);
  return (
    <details
      class="nested"
      data-call={id}
      data-state={state}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary>
        <Text text={tool} />{" "}
        <span class={`call-state ${state}`}>
          <Text text={callText(call)} />
        </span>{" "}
        <small>
          {ms === undefined ? "" : duration(ms)} {state === "value" ? bytes(size) : ""}
        </small>
      </summary>
      {isOpen && <CallDetails execution={execution} call={call} />}
    </details>
  );
}

function NestedProgram({ program, isLast }: { readonly program: ProgramCallView; readonly isLast: boolean }) {
  const { id, execution, source, result, isError } = program;
  const [isOpen, setOpen] = useState(false);
  return (
    <details
      class="nested"
      data-call={id}
      data-execution={execution}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary>
        run_program{" "}
        <small>
          {bytes(source.bytes)} of source
          {result && !isLast ? `, ${bytes(result.bytes)} given back` : ""}
        </small>
        {isError && !isLast && <span class="call-state failed"> no value</span>}
      </summary>
      {isOpen && (
        <>
          {execution === undefined ? (
            <TextBlock head={source} name={`Program ${id}`} />
          ) : (
            <Nested execution={execution} program={program} />
          )}
          {result && !isLast && (
            <>
              <h4>Given to the model</h4>
              <TextBlock head={result} name={`Result of program ${id}`} />
            </>
          )}
        </>
      )}
    </details>
  );
}

/** A program that was never begun, for instance because it was forbidden, has no execution. */
function Nested({ execution, program }: { readonly execution: string; readonly program: ProgramCallView }) {
  const { value, error } = useExecution(execution);
  if (value?.kind === "program")
    return (
      <>
        <a href={linkTo("execution", execution)}>Open it alone</a>
        <ProgramPanels view={value} />
      </>
    );
  return (
    <>
      <TextBlock head={program.source} name={`Program ${program.id}`} />
      {error !== undefined && <Problem error={error} />}
    </>
  );
}
