import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

export interface SectionProps {
  readonly title: string;
  /** Quiet words beside the title. */
  readonly note?: string | undefined;
  readonly class?: string;
  /** The stable name of the part, `data-part`. */
  readonly part?: string;
  /** Number of what it lists, `data-count`. */
  readonly count?: number;
  /** Gets the id of the title, which names the content too. */
  readonly children: ComponentChildren | ((titleId: string) => ComponentChildren);
}

/** A part of a screen: a title, and what is below it. */
export function Section({ title, note = "", class: name = "", part, count, children }: SectionProps) {
  const id = useId();
  return (
    <section class={`section ${name}`} data-part={part} data-count={count} aria-labelledby={id}>
      <header class="section-head">
        <h2 id={id}>
          {title}
          {note !== "" && <small> {note}</small>}
        </h2>
      </header>
      {typeof children === "function" ? children(id) : children}
    </section>
  );
}

/** Two parts beside each other if there is room. One alone takes all of it. */
export function Pair({ children }: { readonly children: ComponentChildren }) {
  return <div class="pair">{children}</div>;
}
