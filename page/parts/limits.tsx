import { useId } from "preact/hooks";
import type { LimitView } from "../../src/views/view.ts";
import { amount } from "../format.ts";

const WIDTH = 200;
/** Share of a limit from which its bar warns. */
const CLOSE = 0.8;

export function Limits({
  limits,
  reached,
}: {
  readonly limits: readonly LimitView[];
  readonly reached: string | undefined;
}) {
  const id = useId();
  return (
    <section class="panel limits" aria-labelledby={id}>
      <h2 id={id}>Limits</h2>
      {limits.map(({ name, used, allowed }) => {
        const share = used === undefined ? 0 : Math.min(1, used / Math.max(1, allowed));
        const kind = name === reached ? "failed" : share >= CLOSE ? "waiting" : "value";
        return (
          <div class={`limit ${name === reached ? "reached" : ""}`} key={name} data-limit={name} data-value={used}>
            <span>{name}</span>
            <svg class="bar-line" viewBox={`0 0 ${WIDTH} 10`} preserveAspectRatio="none" aria-hidden="true">
              <rect class="bar-ground" x={0} y={0} width={WIDTH} height={10} />
              <rect class={`bar ${kind}`} x={0} y={0} width={share * WIDTH} height={10} />
            </svg>
            <span class="number">{`${used === undefined ? "–" : amount(name, used)} of ${amount(name, allowed)}`}</span>
          </div>
        );
      })}
    </section>
  );
}
