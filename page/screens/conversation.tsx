import { useState } from "preact/hooks";
import type {
  CallView,
  ConversationView,
  ModelTurnView,
  ProgramCallView,
  SaidView,
  TextHead,
} from "../../src/serve/views/view.ts";
import { callText, hostedCallText, programText, RESTS, tokensText } from "../../src/serve/views/words.ts";
import { useExecution } from "../data/use-source.ts";
import { bytes, countText, duration } from "../format.ts";
import { Funnel } from "../parts/funnel.tsx";
import { Limits } from "../parts/limits.tsx";
import { Notes } from "../parts/panels.tsx";
import { Problem } from "../parts/problem.tsx";
import { Section } from "../parts/section.tsx";
import { TextBlock } from "../parts/text-block.tsx";
import { linkTo } from "../route.ts";
import { Text } from "../text.tsx";
import { CallDetails } from "../timeline/call-details.tsx";
import { ProgramPanels } from "./program.tsx";

/** One conversation: its answer and its funnel, then what was said, with the model's calls and programs folded. */
export function ConversationPanels({ view }: { readonly view: ConversationView }) {
  const { turns } = view;
  return (
    <div class="panels">
      {view.output && (
        <Section class="output" part="output" title="Answer">
          <Spoken head={view.output} />
        </Section>
      )}
      <Funnel funnel={view.funnel} />
      <Section class="turns" title="Conversation" note={countText(turns.length, "turn")} count={turns.length}>
        <Thread view={view} />
      </Section>
      <Limits view={view} />
      <Notes view={view} />
    </div>
  );
}

function Thread({ view }: { readonly view: ConversationView }) {
  const { turns, said, task, rests, state, driven } = view;
  const byId = new Map(view.calls.map((call) => [call.id, call]));
  const answered = turns.findLast(({ text }) => isSame(text, view.output));
  return (
    <ol class="thread">
      {task !== "" && <Said by="user" text={{ text: task, bytes: task.length }} />}
      {turns.map((one, index) => (
        <Turn key={index} view={view} turn={one} number={index + 1} calls={byId} isAnswer={one === answered} />
      ))}
      {said.map((one, index) => (
        <Said key={index} by={one.by} text={one.text} />
      ))}
      {rests && <li class="hint">{RESTS}</li>}
      {state === "running" && driven && <li class="hint">The model goes on …</li>}
    </ol>
  );
}

interface TurnProps {
  readonly view: ConversationView;
  readonly turn: ModelTurnView;
  readonly number: number;
  readonly calls: ReadonlyMap<string, CallView>;
  /** Its text is the answer, which stands above the conversation. */
  readonly isAnswer: boolean;
}

/** Whether a text that was said is the same as the answer, as far as both are shown. */
function isSame(said: TextHead, answer: TextHead | undefined): boolean {
  return answer !== undefined && answer.bytes === said.bytes && answer.text.startsWith(said.text);
}

function Turn({ view, turn, number, calls, isAnswer }: TurnProps) {
  const { model, at, end, text, programs, hosted, citations } = turn;
  const facts = [
    `turn ${number}`,
    `after ${duration(Math.max(0, at - view.startedAt))}`,
    tokensText(turn),
    ...(end === "called" || end === "answered" ? [] : [end.replaceAll("_", " ")]),
  ];
  return (
    <>
      {turn.said.map((one, index) => (
        <Said key={index} by={one.by} text={one.text} />
      ))}
      <li class="turn" data-turn={number}>
        <p class="who">
          <b>
            <Text text={model} />
          </b>{" "}
          <Facts facts={facts} />
        </p>
        {isAnswer ? (
          <details class="repeated">
            <summary>The answer, as above</summary>
            <Spoken head={text} />
          </details>
        ) : (
          text.text !== "" && <Spoken head={text} />
        )}
        {turn.calls.map((id) => {
          const call = calls.get(id);
          return call && <DirectCall key={id} execution={view.execution} call={call} />;
        })}
        {hosted.map((call) => (
          <p key={call.id} class="hint" data-hosted={call.tool}>
            <Text text={`${hostedCallText(call)}, data from outside`} />
          </p>
        ))}
        {citations.length > 0 && (
          <ul class="hint" aria-label="Sources that the provider names">
            {citations.map(({ url, title = "" }) => (
              <li key={url}>
                <Text text={`${title} ${url}`.trim()} />
              </li>
            ))}
          </ul>
        )}
        {programs.map((program) => (
          <NestedProgram key={program.id} program={program} />
        ))}
      </li>
    </>
  );
}

/** Facts in small words, none of which is broken. */
function Facts({ facts }: { readonly facts: readonly string[] }) {
  return (
    <small>
      {facts.map((fact, index) => (
        <span key={fact}>
          {index > 0 && " · "}
          <span class="number">
            <Text text={fact} />
          </span>
        </span>
      ))}
    </small>
  );
}

const WHO = { user: "User", host: "Host" } as const;

function Said({ by, text }: SaidView) {
  return (
    <li class={`said ${by}`}>
      <p class="who">
        <b>{WHO[by]}</b>
      </p>
      <Spoken head={text} />
    </li>
  );
}

/** Prose of a person or a model. */
function Spoken({ head }: { readonly head: TextHead }) {
  return (
    <div class="spoken">
      <Text text={head.text} />
      {head.cut && <p class="hint">Only the beginning of {bytes(head.bytes)} is shown.</p>}
    </div>
  );
}

function DirectCall({ execution, call }: { readonly execution: string; readonly call: CallView }) {
  const { id, tool, state, ms, bytes: size } = call;
  const [isOpen, setOpen] = useState(false);
  const facts = [...(ms === undefined ? [] : [duration(ms)]), ...(state === "value" ? [bytes(size)] : [])];
  return (
    <details
      class="nested"
      data-call={id}
      data-state={state}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary>
        <span class="nested-kind">Call</span>{" "}
        <code class="nested-title">
          <Text text={tool} />
        </code>{" "}
        <small>
          <span class={`call-state ${state}`}>
            <Text text={callText(call)} />
          </span>
          {facts.length > 0 && " · "}
        </small>
        <Facts facts={facts} />
      </summary>
      {isOpen && (
        <div class="nested-body">
          <CallDetails execution={execution} call={call} />
        </div>
      )}
    </details>
  );
}

function NestedProgram({ program }: { readonly program: ProgramCallView }) {
  const { id, execution, title, source, result, isError } = program;
  const [isOpen, setOpen] = useState(false);
  return (
    <details
      class="nested"
      data-call={id}
      data-execution={execution}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary>
        <span class="nested-kind">Program</span>{" "}
        <span class="nested-title">
          <Text text={title} />
        </span>{" "}
        <small class={isError ? "call-state failed" : ""}>{programText(program)}</small>
      </summary>
      {isOpen && (
        <div class="nested-body">
          {execution === undefined ? (
            <TextBlock head={source} name={`Program ${id}`} />
          ) : (
            <Nested execution={execution} program={program} />
          )}
          {result && execution === undefined && (
            <Section title="Given to the model">
              <TextBlock head={result} name={`Result of program ${id}`} />
            </Section>
          )}
        </div>
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
        <p>
          <a href={linkTo("execution", execution)}>Open it alone</a>
        </p>
        <ProgramPanels view={value} />
      </>
    );
  if (error === undefined) return <p class="empty">Loading …</p>;
  return (
    <>
      <TextBlock head={program.source} name={`Program ${program.id}`} />
      {program.result ? (
        <Section title="Given to the model">
          <TextBlock head={program.result} name={`Result of program ${program.id}`} />
        </Section>
      ) : (
        <Problem error={error} />
      )}
    </>
  );
}
