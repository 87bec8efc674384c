import { useLayoutEffect, useRef } from "preact/hooks";
import type { Tick } from "../../src/serve/views/timeline.ts";
import { axisTexts } from "./axis-texts.ts";

export interface AxisProps {
  readonly ticks: readonly Tick[];
  readonly width: number;
  /** Called with its width in pixels, whenever that changes. */
  readonly onWidth: (width: number) => void;
}

/** The times above the bars of calls. The rows tell their times in words. */
export function Axis({ ticks, width, onWidth }: AxisProps) {
  const texts = axisTexts(ticks, width);
  const drawing = useRef<SVGSVGElement>(null);
  useLayoutEffect(() => {
    const element = drawing.current;
    if (!element) return;
    const observer = new ResizeObserver(() => onWidth(Math.max(1, element.clientWidth)));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return (
    <div class="axis" aria-hidden="true">
      <div class="call-line">
        <svg ref={drawing}>
          {ticks.map(({ share }, index) => (
            <line key={`tick-${index}`} x1={percent(share)} x2={percent(share)} y1="70%" y2="100%" />
          ))}
          {texts.map(({ text, from, until }) => (
            <text key={`text-${from}`} x={percent((from + until) / 2 / width)} y="15" text-anchor="middle">
              {text}
            </text>
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
