import type { CallView, ExecutionView, ProgramView } from "../../src/views/view.ts";
import { limitText, outcomeText } from "../../src/views/words.ts";
import { useExecution } from "../data/use-source.ts";
import { amount, bytes, count, duration } from "../format.ts";
import { Problem } from "../parts/problem.tsx";
import { TextBlock } from "../parts/text-block.tsx";
import { linkTo } from "../route.ts";
import { Text } from "../text.tsx";

/** Two executions of one program beside each other. */
export function Compare({ one, other }: { readonly one: string; readonly other: string }) {
  const left = useExecution(one);
  const right = useExecution(other);
  const error = left.error ?? right.error;
  if (error !== undefined)
    return (
      <main>
        <Problem error={error} />
      </main>
    );
  if (!left.value || !right.value)
    return (
      <main>
        <p>Loading …</p>
      </main>
    );
  if (!isProgram(left.value) || !isProgram(right.value))
    return (
      <main>
        <p class="problem">Only executions of programs can be compared.</p>
      </main>
    );
  return <Comparison left={left.value} right={right.value} />;
}

function isProgram(view: ExecutionView): view is ProgramView {
  return view.kind === "program";
}

function Comparison({ left, right }: { readonly left: ProgramView; readonly right: ProgramView }) {
  const tools = [...new Set([...left.calls, ...right.calls].map(({ tool }) => tool))];
  return (
    <main class="compare-screen" data-compare>
      <h1>Two executions of {left.source === right.source ? "one program" : "different programs"}</h1>
      <p class="hint" data-first-difference>
        <Text text={firstDifference(left.calls, right.calls)} />
      </p>
      <div class="table-box" tabIndex={0} role="region" aria-label="Comparison">
        <table>
          <thead>
            <tr>
              <td />
              {[left, right].map(({ execution }, index) => (
                <th scope="col" key={index}>
                  <a href={linkTo("execution", execution)}>
                    <Text text={execution} />
                  </a>
                </th>
              ))}
              <th scope="col">difference</th>
            </tr>
          </thead>
          <tbody>
            <Line
              name="outcome"
              texts={[left, right].map(({ outcome, state }) => (outcome ? outcomeText(outcome.type) : state))}
            />
            <NumberLine
              name="time"
              values={[left, right].map(({ lastAt, startedAt }) => lastAt - startedAt)}
              as={duration}
            />
            <NumberLine name="calls" values={[left, right].map(({ calls }) => calls.length)} as={count} />
            <NumberLine name="turns" values={[left, right].map(({ turns }) => turns.length)} as={count} />
            <NumberLine
              name="returned by tools"
              values={[left, right].map(({ funnel }) => funnel.fetched.bytes)}
              as={bytes}
            />
            <NumberLine
              name="given to the model"
              values={[left, right].map(({ funnel }) => funnel.returned?.bytes ?? 0)}
              as={bytes}
            />
            {left.limits.map(({ name, used }) => {
              const there = right.limits.find((limit) => limit.name === name)?.used;
              return used === undefined || there === undefined ? null : (
                <NumberLine
                  key={name}
                  name={limitText(name)}
                  values={[used, there]}
                  as={(value) => amount(name, value)}
                />
              );
            })}
            {tools.map((tool) => (
              <ToolLines key={tool} tool={tool} calls={[left.calls, right.calls]} />
            ))}
          </tbody>
        </table>
      </div>
      <div class="beside">
        {[left, right].map(({ execution, output }, index) => (
          <section class="section output" key={index} data-part="output">
            <h2>
              Given to the model by <Text text={execution} />
            </h2>
            {output ? <TextBlock head={output} name={`Output of ${execution}`} /> : <p class="hint">Nothing.</p>}
          </section>
        ))}
      </div>
    </main>
  );
}

function ToolLines({ tool, calls }: { readonly tool: string; readonly calls: readonly (readonly CallView[])[] }) {
  const own = calls.map((all) => all.filter((call) => call.tool === tool));
  const sum = (of: (call: CallView) => number) => own.map((all) => all.reduce((total, call) => total + of(call), 0));
  const isBad = ({ state }: CallView) => (state === "failed" || state === "refused" ? 1 : 0);
  return (
    <>
      <NumberLine name={`${tool}: calls`} values={own.map((all) => all.length)} as={count} />
      <NumberLine name={`${tool}: time`} values={sum(({ ms = 0 }) => ms)} as={duration} />
      <NumberLine name={`${tool}: bytes`} values={sum((call) => call.bytes)} as={bytes} />
      <NumberLine name={`${tool}: without a value`} values={sum(isBad)} as={count} />
    </>
  );
}

interface NumberLineProps {
  readonly name: string;
  readonly values: readonly number[];
  readonly as: (value: number) => string;
}

function NumberLine({ name, values, as }: NumberLineProps) {
  const [one = 0, other = 0] = values;
  const difference = other - one;
  const sign = difference > 0 ? "+ " : difference < 0 ? "− " : "";
  return (
    <Line name={name} texts={values.map(as)} difference={difference === 0 ? "" : sign + as(Math.abs(difference))} />
  );
}

interface LineProps {
  readonly name: string;
  readonly texts: readonly string[];
  readonly difference?: string;
}

function Line({ name, texts, difference = texts[0] === texts[1] ? "" : "differs" }: LineProps) {
  return (
    <tr class={difference === "" ? "" : "differs"}>
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
  );
}

/** Where the calls of two executions part: they are compared in the order in which they were made. */
function firstDifference(left: readonly CallView[], right: readonly CallView[]): string {
  const length = Math.max(left.length, right.length);
  for (let index = 0; index < length; index += 1) {
    const one = left[index];
    const other = right[index];
    if (!one || !other) return `From call ${index + 1} on, only ${one ? "the first" : "the second"} makes calls.`;
    if (one.tool !== other.tool) return `Call ${index + 1} differs: ${one.tool}, and ${other.tool}.`;
    if (one.input.text !== other.input.text)
      return `The input of call ${index + 1} of ${one.tool} differs: ${one.input.text}, and ${other.input.text}.`;
    if (one.state !== other.state || one.result?.text !== other.result?.text)
      return `The answer to call ${index + 1} of ${one.tool} differs.`;
  }
  return "Both made the same calls, with the same inputs and the same answers, as far as they are shown.";
}
