import { useId } from "preact/hooks";
import type { ArtifactView, EventView, TextHead } from "../../src/views/view.ts";
import { bytes, time } from "../format.ts";
import { Text } from "../text.tsx";
import { TextBlock } from "./text-block.tsx";

/** What the model or the caller gets. */
export function Output({ output }: { readonly output: TextHead | undefined }) {
  const id = useId();
  return (
    <section class="panel output" data-part="output" aria-labelledby={id}>
      <h2 id={id}>
        Given to the model <small>{output ? bytes(output.bytes) : ""}</small>
      </h2>
      {output ? <TextBlock head={output} name="What the model is given" /> : <p class="hint">Nothing yet.</p>}
    </section>
  );
}

export interface NotesProps {
  readonly notes: readonly string[];
  readonly events: readonly EventView[];
  readonly artifacts: readonly ArtifactView[];
}

/** Notes of the runtime, what happened beside calls, and what was kept. */
export function Notes({ notes, events, artifacts }: NotesProps) {
  const id = useId();
  const isEmpty = notes.length + events.length + artifacts.length === 0;
  return (
    <section class="panel notes" data-part="notes" aria-labelledby={id}>
      <h2 id={id}>Notes</h2>
      <ul tabIndex={0} role="region" aria-labelledby={id}>
        {isEmpty && <li class="hint">None.</li>}
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
    </section>
  );
}
