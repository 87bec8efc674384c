import type { CallView } from "../../src/serve/views/view.ts";
import { percent } from "./axis.tsx";
import type { CallRow } from "../../src/serve/views/call-groups.ts";
import { shareOfTime, spansOf, type Tick, type Time } from "../../src/serve/views/timeline.ts";

export interface StripScale extends Time {
  readonly ticks: readonly Tick[];
  /** Bytes that the full bar of a stream stands for. */
  readonly bytes: number;
}

/** Width of the drawing of a stream. */
const STREAM_WIDTH = 200;

/** When a call waited and ran, and below how much its stream has given; of a group, from its first call to its last end. */
export function Strip({ row, scale }: { readonly row: CallRow; readonly scale: StripScale }) {
  return (
    <svg class="strip" aria-hidden="true">
      {scale.ticks.map(({ share }, index) => (
        <line key={index} x1={percent(share)} x2={percent(share)} y1="0" y2="100%" />
      ))}
      {row.type === "call" ? (
        <CallBars call={row.call} scale={scale} />
      ) : (
        <Span
          span={timeOfAll(row.group.calls, scale)}
          scale={scale}
          class={row.group.state}
          at={{ y: "28%", height: "44%" }}
        />
      )}
    </svg>
  );
}

function CallBars({ call, scale }: { readonly call: CallView; readonly scale: StripScale }) {
  const { state, items, bytes } = call;
  const isStream = items !== undefined;
  const at = { y: isStream ? "12%" : "28%", height: isStream ? "24%" : "44%" };
  return (
    <>
      {spansOf(call, scale.until).map(({ does, ...span }) => (
        <Span key={does} span={span} scale={scale} class={does === "waits" ? "waits" : state} at={at} />
      ))}
      {isStream && (
        <svg y="50%" width="100%" height="34%" viewBox={`0 0 ${STREAM_WIDTH} 1`} preserveAspectRatio="none">
          <rect class="bar-ground" width={STREAM_WIDTH} height={1} />
          <rect class={`bar streamed ${state}`} width={(bytes / scale.bytes) * STREAM_WIDTH} height={1} />
        </svg>
      )}
    </>
  );
}

interface SpanProps {
  readonly span: Time;
  readonly scale: Time;
  readonly class: string;
  readonly at: { readonly y: string; readonly height: string };
}

/** A bar of at least two pixels, within the drawing. */
function Span({ span, scale, class: name, at }: SpanProps) {
  const from = shareOfTime(scale, span.from);
  const width = shareOfTime(scale, span.until) - from;
  return (
    <rect
      class={`bar ${name}`}
      x={percent(Math.min(from, 0.995))}
      {...at}
      rx="2"
      width={percent(Math.max(0.005, width))}
    />
  );
}

function timeOfAll(calls: readonly CallView[], { until: last }: Time): Time {
  let [from, until] = [last, 0];
  for (const { at, ms } of calls) {
    from = Math.min(from, at);
    until = Math.max(until, ms === undefined ? last : at + ms);
  }
  return { from, until };
}
