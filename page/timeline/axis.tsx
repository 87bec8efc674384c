import { useLayoutEffect, useRef } from "preact/hooks";
import type { TimeScale } from "../../src/views/time-scale.ts";

export interface AxisProps {
  readonly scale: TimeScale;
  /** Called with its width in pixels, whenever that changes. */
  readonly onWidth: (width: number) => void;
}

/** The times above the bars of calls, and what was drawn shorter. The rows tell their times in words. */
export function Axis({ scale, onWidth }: AxisProps) {
  const { ticks, pauses, place } = scale;
  const drawing = useRef<SVGSVGElement>(null);
  useLayoutEffect(() => {
    const element = drawing.current;
    if (!element) return;
    const observer = new ResizeObserver(() => onWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return (
    <div class="axis" aria-hidden="true">
      <div class="call-line">
        <svg ref={drawing}>
          {pauses.map(({ from, until, text }, index) => (
            <g key={`pause-${index}`}>
              <title>{`Nothing ran for ${text}. It is drawn shorter.`}</title>
              <rect class="pause" x={percent(place(from))} width={percent(place(until) - place(from))} height="100%" />
              <text class="pause-text" x={percent((place(from) + place(until)) / 2)} y="17" text-anchor="middle">
                {text}
              </text>
            </g>
          ))}
          {ticks.map(({ share, text }, index) => (
            <g key={index}>
              <line x1={percent(share)} x2={percent(share)} y1="70%" y2="100%" />
              <text x={percent(share)} y="15" text-anchor={share < 0.04 ? "start" : share > 0.94 ? "end" : "middle"}>
                {text}
              </text>
            </g>
          ))}
        </svg>
      </div>
    </div>
  );
}

/** What waits look like. One is in the document, for all bars. */
export function Hatch() {
  return (
    <svg class="visually-hidden" aria-hidden="true">
      <defs>
        <pattern id="waits" class="hatch" width="6" height="6" patternUnits="userSpaceOnUse">
          <rect width="6" height="6" />
          <path d="M-1 1l2-2M0 6l6-6M5 7l2-2" />
        </pattern>
      </defs>
    </svg>
  );
}

export function percent(share: number): string {
  return `${Math.round(share * 1e5) / 1e3}%`;
}
