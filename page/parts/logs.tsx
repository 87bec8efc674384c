import { useId } from "preact/hooks";
import type { LogView } from "../../src/views/view.ts";
import { Text } from "../text.tsx";
import { droppedText, logPieces } from "./log-pieces.ts";

export function Logs({ logs }: { readonly logs: readonly LogView[] }) {
  const id = useId();
  return (
    <section class="panel logs" data-part="logs" aria-labelledby={id}>
      <h2 id={id}>Printed</h2>
      <pre tabIndex={0} role="log" aria-labelledby={id}>
        {logs.length === 0 && <span class="hint">Nothing.</span>}
        {logPieces(logs).map(({ stream, text, dropped }, index) => (
          <span key={index} class={stream}>
            {dropped !== undefined && <i>{droppedText(dropped)}</i>}
            <Text text={text} />
          </span>
        ))}
      </pre>
    </section>
  );
}
