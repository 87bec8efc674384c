import { useId } from "preact/hooks";
import type { FunnelPart, FunnelView } from "../../src/views/view.ts";
import { FUNNEL } from "../../src/views/words.ts";
import { bytes, count } from "../format.ts";

const WIDTH = 400;

/** What tools returned, what the program was handed, what the model gets. */
export function Funnel({ funnel }: { readonly funnel: FunnelView }) {
  const id = useId();
  const most = Math.max(1, ...FUNNEL.map(([name]) => funnel[name]?.bytes ?? 0));
  return (
    <section class="panel funnel" aria-labelledby={id}>
      <h2 id={id}>Funnel</h2>
      {FUNNEL.map(([name, what]) =>
        name === "seen" && !funnel.seen ? null : (
          <Part key={name} name={name} what={what} part={funnel[name]} most={most} />
        ),
      )}
    </section>
  );
}

interface PartProps {
  readonly name: keyof FunnelView;
  readonly what: string;
  readonly part: FunnelPart | undefined;
  readonly most: number;
}

function Part({ name, what, part, most }: PartProps) {
  const tokens = part && `${part.estimated ? "≈ " : ""}${count(part.tokens)} tokens`;
  return (
    <div class="funnel-part" data-funnel={name} data-value={part?.bytes}>
      <span>{what}</span>
      <svg class="bar-line" viewBox={`0 0 ${WIDTH} 10`} preserveAspectRatio="none" aria-hidden="true">
        <rect class="bar-ground" x={0} y={0} width={WIDTH} height={10} />
        {part && <rect class="bar value" x={0} y={0} width={Math.max(1, (part.bytes / most) * WIDTH)} height={10} />}
      </svg>
      <span class="number">{part ? bytes(part.bytes) : "–"}</span>
      <span class="number">{tokens ?? ""}</span>
    </div>
  );
}
