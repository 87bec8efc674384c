import type { ComponentChildren } from "preact";
import type { CallView, ExecutionView, ProgramView } from "../../src/serve/views/view.ts";
import { callText } from "../../src/serve/views/words.ts";
import { useExecution } from "../data/use-source.ts";
import { count, countText, duration, time } from "../format.ts";
import { Main } from "../parts/main.tsx";
import { valueInLines } from "../parts/panels.tsx";
import { NotShown, Problem } from "../parts/problem.tsx";
import { Section } from "../parts/section.tsx";
import { State } from "../parts/state.tsx";
import { TextBlock } from "../parts/text-block.tsx";
import { linkTo } from "../route.ts";
import { Text } from "../text.tsx";
import { type Difference, firstDifference, type Measure, measuresOf } from "./differences.ts";

/** Two executions of one program beside each other. */
export function Compare({ one, other }: { readonly one: string; readonly other: string }) {
  const left = useExecution(one);
  const right = useExecution(other);
  const error = left.error ?? right.error;
  const views = [left.value, right.value].filter((view) => view !== undefined);
  const titles = [...new Set(views.map(({ title }) => title))];
  return (
    <Main
      tab={["Comparison", ...titles].join(" · ")}
      class="compare-screen"
      data-compare={areBothPrograms(views) || undefined}
    >
      {areBothPrograms(views) ? (
        <Comparison views={views} error={error} />
      ) : views.length === 2 ? (
        <p class="problem">Only executions of programs can be compared.</p>
      ) : error === undefined ? (
        <p>Loading …</p>
      ) : (
        <NotShown executions={[one, other]} error={error} />
      )}
    </Main>
  );
}

function areBothPrograms(views: readonly ExecutionView[]): views is Both<ProgramView> {
  return views.length === 2 && views.every(isProgram);
}

function isProgram(view: ExecutionView): view is ProgramView {
  return view.kind === "program";
}

type Both<Value> = readonly [Value, Value];

interface ComparisonProps {
  readonly views: Both<ProgramView>;
  readonly error: unknown;
}

function Comparison({ views, error }: ComparisonProps) {
  const [left, right] = views;
  const difference = firstDifference(left, right);
  const measures = measuresOf(left, right);
  const differing = measures.filter((measure) => measure.texts[0] !== measure.texts[1]);
  const same = measures.filter((measure) => !differing.includes(measure));
  return (
    <>
      <header class="head">
        <h1>Two executions of {left.source === right.source ? "one program" : "different programs"}</h1>
        <p class="lead" data-first-difference>
          <Text text={difference.text} />
        </p>
      </header>
      {error !== undefined && <Problem error={error} />}
      <div class="panels">
        <Sides>
          {views.map((view, index) => (
            <Who key={index} view={view} index={index} />
          ))}
        </Sides>
        <DifferentLine sources={difference.sources} />
        <Section title="What differs" note={countText(differing.length, "measure")} part="differences">
          {differing.length === 0 ? <p class="empty">No measure differs.</p> : <Table measures={differing} />}
        </Section>
        <DifferentCall calls={difference.calls} />
        <Section title="Given to the model">
          <Sides isText>
            {views.map(({ execution, output }, index) => (
              <div class="side" key={index} data-part="output">
                <Letter index={index} />
                {output ? (
                  <TextBlock head={output} name={`Output of ${execution}`} write={valueInLines} />
                ) : (
                  <p class="empty">Nothing.</p>
                )}
              </div>
            ))}
          </Sides>
        </Section>
        {same.length > 0 && (
          <details class="same">
            <summary>
              {countText(same.length, "measure")} {same.length === 1 ? "is" : "are"} the same
            </summary>
            <Table measures={same} />
          </details>
        )}
      </div>
    </>
  );
}

/** What the two executions are called here: their ids are long. */
const LETTERS = ["A", "B"] as const;

function Letter({ index }: { readonly index: number }) {
  return <b class="letter">{LETTERS[index]}</b>;
}

interface SidesProps {
  readonly children: ComponentChildren;
  /** Text stands below the other on a narrow screen: it needs the width. */
  readonly isText?: boolean;
}

function Sides({ children, isText = false }: SidesProps) {
  return <div class={`beside ${isText ? "text" : ""}`}>{children}</div>;
}

function Who({ view, index }: { readonly view: ProgramView; readonly index: number }) {
  const { execution, title, state, driven, outcome, startedAt, lastAt } = view;
  return (
    <div class="side">
      <p class="head-line">
        <Letter index={index} />
        <State state={state} driven={driven} outcome={outcome?.type} />
        <span>{duration(Math.max(0, lastAt - startedAt))}</span>
        <span class="quiet">{time(startedAt)}</span>
      </p>
      <h2>
        <a href={linkTo("execution", execution)}>
          <Text text={title} />
        </a>
      </h2>
      <p class="quiet">
        <code>
          <Text text={execution} />
        </code>
      </p>
    </div>
  );
}

function DifferentLine({ sources }: { readonly sources: Difference["sources"] }) {
  if (!sources) return null;
  const { line, texts } = sources;
  return (
    <Section title="The first line that differs" note={`line ${count(line)}`}>
      <Sides isText>
        {texts.map((text, index) => (
          <div class="side" key={index}>
            <Letter index={index} />
            <pre class="box" tabIndex={0} role="region" aria-label={`Line ${line} of ${LETTERS[index]}`}>
              <Text text={text === undefined ? "(It has no such line.)" : text.trim()} />
            </pre>
          </div>
        ))}
      </Sides>
    </Section>
  );
}

function DifferentCall({ calls }: { readonly calls: Difference["calls"] }) {
  if (!calls) return null;
  const { number, both } = calls;
  const [one, other] = both;
  // Where the inputs differ, it says nothing that the results do.
  const isAnswer = one?.tool === other?.tool && one?.input.text === other?.input.text;
  return (
    <Section title="The first call that differs" note={`call ${count(number)}`}>
      <Sides isText>
        {both.map((call, index) => (
          <CallSide key={index} call={call} index={index} isAnswer={isAnswer} />
        ))}
      </Sides>
    </Section>
  );
}

interface CallSideProps {
  readonly call: CallView | undefined;
  readonly index: number;
  /** The answer is shown, and not the input. */
  readonly isAnswer: boolean;
}

function CallSide({ call, index, isAnswer }: CallSideProps) {
  const letter = LETTERS[index] ?? "";
  if (!call)
    return (
      <div class="side">
        <Letter index={index} /> <span class="empty">It makes no such call.</span>
      </div>
    );
  return (
    <div class="side">
      <h3>
        <Letter index={index} />{" "}
        <code>
          <Text text={call.tool} />
        </code>{" "}
        <small>
          <span class={`call-state ${call.state}`}>
            <Text text={callText(call)} />
          </span>
          {call.ms === undefined ? "" : ` · ${duration(call.ms)}`}
        </small>
      </h3>
      {!isAnswer && <TextBlock head={call.input} name={`Input in ${letter}`} isJson />}
      {isAnswer && call.result && (
        <TextBlock head={call.result} name={`Result in ${letter}`} isJson={call.state === "value"} />
      )}
    </div>
  );
}

function Table({ measures }: { readonly measures: readonly Measure[] }) {
  return (
    <table class="measures">
      <thead>
        <tr>
          <td />
          <th scope="col">A</th>
          <th scope="col">B</th>
          <th scope="col">change in B</th>
        </tr>
      </thead>
      <tbody>
        {measures.map(({ name, texts, difference, isLarge }) => (
          <tr key={name} class={isLarge ? "large" : ""}>
            <th scope="row">
              <Text text={name} />
            </th>
            {texts.map((text, index) => (
              <td key={index}>
                <Text text={text} />
              </td>
            ))}
            <td>{difference}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
