import type { LogView } from "../../src/serve/views/view.ts";
import { Text } from "../text.tsx";
import { droppedText, logPieces } from "./log-pieces.ts";
import { Section } from "./section.tsx";

export interface LogsProps {
  readonly logs: readonly LogView[];
  /** Its place is kept while nothing was printed. */
  readonly isKept?: boolean;
}

export function Logs({ logs, isKept = false }: LogsProps) {
  if (logs.length === 0 && !isKept) return null;
  return (
    <Section class="logs" part="logs" title="Printed">
      {(id) => (
        <pre class="box" tabIndex={0} role="log" aria-labelledby={id}>
          {logs.length === 0 && <span class="empty">Nothing yet.</span>}
          {logPieces(logs).map(({ stream, text, dropped }, index) => (
            <span key={index} class={stream}>
              {dropped !== undefined && <i>{droppedText(dropped)}</i>}
              <Text text={text} />
            </span>
          ))}
        </pre>
      )}
    </Section>
  );
}
