import { useState } from "preact/hooks";
import type { TextHead } from "../../src/serve/views/view.ts";
import { bytes } from "../format.ts";
import { prettyJson } from "../pretty-json.ts";
import { Text } from "../text.tsx";

/** Characters that are put into the document at once. */
const STEP = 50_000;

export interface TextBlockProps {
  readonly head: TextHead;
  /** What the text is, for screen readers. */
  readonly name: string;
  readonly isJson?: boolean;
  /** How the text is written; with `isJson`, as JSON over several lines. */
  readonly write?: (text: string) => string;
  /** Fetches the whole; missing if it cannot be had. */
  readonly whole?: (() => Promise<string | undefined>) | undefined;
}

const asItIs = (text: string) => text;

/** A foreign text, with as much of it as there is, and more of it on demand. */
export function TextBlock({ head, name, isJson = false, write = isJson ? prettyJson : asItIs, whole }: TextBlockProps) {
  const [fetched, setFetched] = useState<string>();
  const [problem, setProblem] = useState<string>();
  const [room, setRoom] = useState(STEP);
  const text = fetched ?? head.text;
  const written = write(text);
  const shown = written.slice(0, room);
  const fetchWhole = () => {
    whole?.().then(setFetched, (error: unknown) => setProblem(error instanceof Error ? error.message : String(error)));
  };
  return (
    <div class="text-block">
      <pre tabIndex={0} role="region" aria-label={name}>
        <Text text={shown} />
      </pre>
      {written.length > room && (
        <button type="button" onClick={() => setRoom(room + STEP)}>
          Show more of {bytes(head.bytes)}
        </button>
      )}
      {head.cut && fetched === undefined && (
        <p class="hint">
          Only the beginning of {bytes(head.bytes)} is shown.{" "}
          {whole && (
            <button type="button" onClick={fetchWhole}>
              Show all
            </button>
          )}
        </p>
      )}
      {problem !== undefined && <p role="alert">{problem}</p>}
    </div>
  );
}
