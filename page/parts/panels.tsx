import type { ExecutionView, TextHead } from "../../src/serve/views/view.ts";
import { bytes, time } from "../format.ts";
import { prettyJson } from "../pretty-json.ts";
import { Text } from "../text.tsx";
import { Section } from "./section.tsx";
import { TextBlock } from "./text-block.tsx";

export interface OutputProps {
  readonly output: TextHead | undefined;
  readonly title?: string;
  /** Its place is kept while there is none. */
  readonly isKept?: boolean;
  /** The printed text stands beside it, and is not repeated. */
  readonly hasPrinted?: boolean;
}

/** What comes before the printed text in what a model is given of a program. No line of printed text begins so: they are indented. */
const PRINTED = "\n\nPrinted:\n";

/** A value begins the text, in one line. Its elements are given lines of their own. */
export function valueInLines(text: string): string {
  const end = text.indexOf("\n");
  const value = end < 0 ? text : text.slice(0, end);
  return /^[[{]/.test(value) ? prettyJson(value, 1) + text.slice(value.length) : text;
}

/** What the model or the caller gets. */
export function Output({ output, title = "Given to the model", isKept = false, hasPrinted = false }: OutputProps) {
  if (!output && !isKept) return null;
  const at = output && hasPrinted ? output.text.lastIndexOf(PRINTED) : -1;
  return (
    <Section
      class="output"
      part="output"
      title={title}
      note={output && `${bytes(output.bytes)}${at < 0 ? "" : ", with what was printed"}`}
    >
      {output ? (
        <TextBlock
          head={at < 0 ? output : { ...output, text: output.text.slice(0, at) }}
          name={title}
          write={valueInLines}
        />
      ) : (
        <p class="box empty">Nothing yet.</p>
      )}
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
