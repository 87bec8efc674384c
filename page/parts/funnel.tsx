import { useId } from "preact/hooks";
import type { FunnelPart, FunnelView } from "../../src/views/view.ts";
import { bytes, count } from "../format.ts";

const WIDTH = 400;

/** What tools returned, what the program was handed, what the model gets. */
export function Funnel({ funnel }: { readonly funnel: FunnelView }) {
  const id = useId();
  const { fetched, seen, returned } = funnel;
  const most = Math.max(1, fetched.bytes, seen?.bytes ?? 0, returned?.bytes ?? 0);
  return (
    <section class="panel funnel" aria-labelledby={id}>
      <h2 id={id}>Funnel</h2>
      <Part name="fetched" what="returned by tools" part={fetched} most={most} />
      {seen && <Part name="seen" what="handed to the program" part={seen} most={most} />}
      <Part name="returned" what="given to the model" part={returned} most={most} />
    </section>
  );
}

interface PartProps {
  readonly name: "fetched" | "seen" | "returned";
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
