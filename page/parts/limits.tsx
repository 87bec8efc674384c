import type { ExecutionView } from "../../src/serve/views/view.ts";
import { limitOf, limitText, nearLimits } from "../../src/serve/views/words.ts";
import { amount } from "../format.ts";
import { Section } from "./section.tsx";

/** Share of a limit from which its bar warns. */
const CLOSE = 0.8;

/** The limits that were neared, or reached. */
export function Limits({ view }: { readonly view: Pick<ExecutionView, "limits" | "outcome"> }) {
  const near = nearLimits(view);
  const reached = limitOf(view.outcome);
  if (near.length === 0) return null;
  return (
    <Section title="Limits" note="used by half or more">
      <div class="limits">
        {near.map(({ name, used, allowed }) => {
          const share = used === undefined ? 1 : Math.min(1, used / Math.max(1, allowed));
          const kind = name === reached ? "failed" : share >= CLOSE ? "waiting" : "open";
          return (
            <div class={`limit ${name === reached ? "reached" : ""}`} key={name} data-limit={name} data-value={used}>
              <span title={name}>{limitText(name)}</span>
              <svg class="bar-line" aria-hidden="true">
                <rect class="bar-ground" width="100%" height="100%" />
                <rect class={`bar ${kind}`} width={`${share * 100}%`} height="100%" />
              </svg>
              <span class="number">
                {used === undefined ? amount(name, allowed) : `${amount(name, used)} of ${amount(name, allowed)}`}
              </span>
            </div>
          );
        })}
      </div>
    </Section>
  );
}
