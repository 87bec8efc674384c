import type { ExecutionView, TextHead } from "../../src/views/view.ts";
import { bytes, time } from "../format.ts";
import { Text } from "../text.tsx";
import { Section } from "./section.tsx";
import { TextBlock } from "./text-block.tsx";

export interface OutputProps {
  readonly output: TextHead | undefined;
  readonly title?: string;
  /** Its place is kept while there is none. */
  readonly isKept?: boolean;
}

/** What the model or the caller gets. */
export function Output({ output, title = "Given to the model", isKept = false }: OutputProps) {
  if (!output && !isKept) return null;
  return (
    <Section class="output" part="output" title={title} note={output && bytes(output.bytes)}>
      {output ? <TextBlock head={output} name={title} /> : <p class="empty">Nothing yet.</p>}
    </Section>
  );
}

/** Notes of the runtime, what happened beside calls, and what was kept. */
export function Notes({ view }: { readonly view: Pick<ExecutionView, "notes" | "events" | "artifacts"> }) {
  const { notes, events, artifacts } = view;
  if (notes.length + events.length + artifacts.length === 0) return null;
  return (
    <Section class="notes" part="notes" title="Notes">
      {(id) => (
        <ul tabIndex={0} role="region" aria-labelledby={id}>
          {notes.map((note, index) => (
            <li key={`note-${index}`}>
              <Text text={note} />
            </li>
          ))}
          {events.map(({ text, at }, index) => (
            <li key={`event-${index}`}>
              <time>{time(at)}</time> <Text text={text} />
            </li>
          ))}
          {artifacts.map(({ name, bytes: size, shape, call }, index) => (
            <li key={`artifact-${index}`}>
              Kept by call <Text text={call} />:{" "}
              <b>
                <Text text={name} />
              </b>
              , {bytes(size)},{" "}
              <code>
                <Text text={shape} />
              </code>
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}
