import type { FunnelPart, FunnelView } from "../../src/serve/views/view.ts";
import { FUNNEL, funnelText } from "../../src/serve/views/words.ts";
import { bytes, countText } from "../format.ts";
import { Section } from "./section.tsx";

/** Width of a part in the drawing, and the place at which it begins to become the next one. */
const WIDTH = 100;
const BEND = 55;
const HEIGHT = 64;
/** By which a part reaches into the next one, so that no line is seen between them. */
const SEAM = 0.4;
/** The least height: what is there can be seen. */
const LEAST = 2;

export interface FunnelProps {
  readonly funnel: FunnelView;
  /** Its place is kept while no tool has returned anything. */
  readonly isKept?: boolean;
}

/** What tools returned, what the program was handed, what the model gets. Missing if no tool has returned anything. */
export function Funnel({ funnel, isKept = true }: FunnelProps) {
  if (funnel.fetched.bytes === 0 && (funnel.returned || !isKept)) return null;
  const parts = FUNNEL.filter(([name]) => name !== "seen" || funnel.seen);
  const most = Math.max(1, ...parts.map(([name]) => funnel[name]?.bytes ?? 0));
  const heights = parts.map(([name]) => {
    const { [name]: part } = funnel;
    return part ? Math.max(LEAST, (part.bytes / most) * HEIGHT) : 0;
  });
  return (
    <Section class="funnel" title="What reached the model" note={funnelText(funnel)}>
      <div class="funnel-flow">
        <ol class="funnel-parts">
          {parts.map(([name, what]) => (
            <Part key={name} name={name} what={what} part={funnel[name]} most={most} />
          ))}
        </ol>
        <svg
          class="funnel-shape"
          viewBox={`0 0 ${parts.length * WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          aria-hidden="true"
        >
          {heights.map((height, index) => (
            <path
              key={index}
              class={parts[index]?.[0]}
              d={shapeOf(index * WIDTH, height, heights[index + 1] ?? height)}
            />
          ))}
        </svg>
      </div>
    </Section>
  );
}

/** A part of the drawing, which becomes as high as the next part at its right end. */
function shapeOf(x: number, height: number, next: number): string {
  const [bend, end, middle] = [x + BEND, x + WIDTH + SEAM, x + (BEND + WIDTH) / 2];
  const top = (of: number) => (HEIGHT - of) / 2;
  const bottom = (of: number) => (HEIGHT + of) / 2;
  return [
    `M${x} ${top(height)}H${bend}C${middle} ${top(height)} ${middle} ${top(next)} ${end} ${top(next)}`,
    `V${bottom(next)}C${middle} ${bottom(next)} ${middle} ${bottom(height)} ${bend} ${bottom(height)}H${x}Z`,
  ].join("");
}

interface PartProps {
  readonly name: keyof FunnelView;
  readonly what: string;
  readonly part: FunnelPart | undefined;
  readonly most: number;
}

function Part({ name, what, part, most }: PartProps) {
  const share = part ? Math.max(0.004, part.bytes / most) : 0;
  return (
    <li class="funnel-part" data-funnel={name} data-value={part?.bytes}>
      <span class="funnel-what">{what}</span>
      <span class="funnel-size">{part ? bytes(part.bytes) : "–"}</span>
      <span class="quiet">{part ? `${part.estimated ? "≈ " : ""}${countText(part.tokens, "token")}` : "\u00a0"}</span>
      <svg class="bar-line" aria-hidden="true">
        <rect class="bar-ground" width="100%" height="100%" />
        <rect class="bar" width={`${share * 100}%`} height="100%" />
      </svg>
    </li>
  );
}
