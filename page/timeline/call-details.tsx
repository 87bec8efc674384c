import type { CallState, CallView, DecisionView, StreamView } from "../../src/serve/views/view.ts";
import { callText, decisionText, streamText } from "../../src/serve/views/words.ts";
import { useSource } from "../data/use-source.ts";
import { bytes, duration, time } from "../format.ts";
import { Text } from "../text.tsx";
import { streamScale } from "../../src/serve/views/call-groups.ts";
import { TextBlock } from "../parts/text-block.tsx";

export interface CallDetailsProps {
  readonly execution: string;
  readonly call: CallView;
  /** Bytes that the full bar of a stream stands for. */
  readonly streamBytes?: number;
}

/** One call with its input, its result and what was decided about it. */
export function CallDetails({ execution, call, streamBytes = streamScale([call]) }: CallDetailsProps) {
  const { call: callOf } = useSource();
  const { id, tool, caller, state, detail, at, ms, items, input, result, effect, attempts, from } = call;
  const { decision, display, place, policy } = call;
  const whole = (part: "input" | "result") => async () =>
    (await callOf(execution, id, new AbortController().signal))[part];
  return (
    <div class="call-details">
      <h3>
        Call <Text text={id} />: <Text text={tool} />
      </h3>
      {items !== undefined && <Stream streamed={{ items, bytes: call.bytes }} state={state} of={streamBytes} />}
      <dl class="facts">
        <Fact name="state" value={detail === undefined ? callText({ state }) : `${callText({ state })}: ${detail}`} />
        <Fact name="caller" value={caller} />
        {place !== undefined && <Fact name="runs at" value={place} />}
        <Fact name="made" value={time(at)} />
        {ms !== undefined && <Fact name="took" value={duration(ms)} />}
        {state === "value" && items === undefined && <Fact name="returned" value={bytes(call.bytes)} />}
        {effect !== undefined && <Fact name="effect" value={effect} />}
        {attempts !== undefined && <Fact name="attempts" value={String(attempts)} />}
        {from && <Fact name="answered as" value={`call ${from.callId} of ${from.execution}`} />}
        {policy !== undefined && <Fact name="policy" value={policy} />}
        {decision && <Fact name="decision" value={decisionFact(decision)} />}
      </dl>
      <h4>Input</h4>
      <TextBlock head={input} name={`Input of call ${id}`} isJson whole={whole("input")} />
      {result && (
        <>
          <h4>{state === "value" ? "Result" : "Message"}</h4>
          <TextBlock head={result} name={`Result of call ${id}`} isJson={state === "value"} whole={whole("result")} />
        </>
      )}
      {display !== undefined && (
        <>
          <h4>Said to people</h4>
          <TextBlock head={{ text: display, bytes: display.length }} name="What the handler said to people" isJson />
        </>
      )}
    </div>
  );
}

interface StreamProps {
  readonly streamed: StreamView;
  readonly state: CallState;
  readonly of: number;
}

const WIDTH = 200;

/** A bar that grows with a stream. How many items come is not known before its end, so the bar has no end of its own. */
function Stream({ streamed, state, of }: StreamProps) {
  const text = streamText(streamed, state === "open");
  return (
    <div
      class="stream-bar"
      role="progressbar"
      aria-label="Stream"
      aria-valuetext={text}
      // The details are announced when they change, and this changes several times a second.
      aria-live="off"
      data-part="stream"
      title={`The full bar is ${bytes(of)}.`}
    >
      <svg class="bar-line" viewBox={`0 0 ${WIDTH} 10`} preserveAspectRatio="none" aria-hidden="true">
        <rect class="bar-ground" x={0} y={0} width={WIDTH} height={10} />
        <rect class={`bar ${state}`} x={0} y={0} width={(streamed.bytes / of) * WIDTH} height={10} />
      </svg>
      <span class="number">{text}</span>
    </div>
  );
}

function Fact({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <Text text={value} />
      </dd>
    </div>
  );
}

function decisionFact(decision: DecisionView): string {
  const { by, note, at } = decision;
  const who = by === undefined ? "" : ` by ${by}`;
  const why = note === undefined ? "" : `: ${note}`;
  return `${decisionText(decision)}${who}, ${time(at)}${why}`;
}
