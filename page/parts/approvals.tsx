import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { WaitingView } from "../../src/views/view.ts";
import { WAITS } from "../../src/views/words.ts";
import { useSource } from "../data/use-source.ts";
import { bytes, count, counted, time } from "../format.ts";
import { firstOpen } from "./first-open.ts";
import { prettyJson } from "../pretty-json.ts";
import { Text } from "../text.tsx";

export interface ApprovalsProps {
  readonly execution: string;
  readonly waiting: readonly WaitingView[];
}

/**
 * The calls that wait for a person. A decided call stays in its place, with its buttons off: otherwise a second click
 * could decide the call that took its place.
 */
export function Approvals({ execution, waiting }: ApprovalsProps) {
  const id = useId();
  const [kept, setKept] = useState<readonly WaitingView[]>([]);
  const [isHidden, setHidden] = useState(false);
  const close = useRef<HTMLButtonElement>(null);
  useEffect(() => setKept((last) => merged(last, waiting)), [waiting]);
  // The button that had the focus is gone with the last decision.
  useEffect(() => {
    if (document.activeElement === document.body) close.current?.focus();
  }, [waiting.length]);
  const all = merged(kept, waiting);
  if (all.length === 0) return null;
  const open = new Set(waiting.map((one) => one.id));
  const { shown, left } = firstOpen(all, open);
  const isOver = waiting.length === 0;
  return (
    <>
      {!isOver && <div class="approvals-room" />}
      <aside
        class={`approvals ${isHidden ? "hidden" : ""} ${isOver ? "over" : ""}`}
        aria-labelledby={id}
        data-waiting={waiting.length}
      >
        <header>
          <h2 id={id}>
            {isOver
              ? "Nothing waits any more"
              : `${counted(waiting.length, "call")} wait${waiting.length === 1 ? "s" : ""}`}
          </h2>
          <button type="button" aria-expanded={!isHidden} onClick={() => setHidden(!isHidden)}>
            {isHidden ? "Show" : "Hide"}
          </button>
          {isOver && (
            <button type="button" ref={close} onClick={() => setKept([])}>
              Close
            </button>
          )}
        </header>
        {!isHidden && (
          <div class="approvals-list">
            {shown.map((one) => (
              <Approval key={one.id} execution={execution} waiting={one} isOpen={open.has(one.id)} isShort={isOver} />
            ))}
            {left > 0 && (
              <p class="hint" data-left={left}>
                {`${count(left)} more wait${left === 1 ? "s" : ""}. They follow as these are decided.`}
              </p>
            )}
          </div>
        )}
      </aside>
    </>
  );
}

function merged(kept: readonly WaitingView[], waiting: readonly WaitingView[]): readonly WaitingView[] {
  const known = new Set(kept.map(({ id }) => id));
  return [...kept, ...waiting.filter(({ id }) => !known.has(id))];
}

interface ApprovalProps {
  readonly execution: string;
  readonly waiting: WaitingView;
  readonly isOpen: boolean;
  /** Nothing waits any more: what is left is what was said. */
  readonly isShort: boolean;
}

function Approval({ execution, waiting, isOpen, isShort }: ApprovalProps) {
  const { id, tool, why, input, since, inputDigest } = waiting;
  const { decide, call } = useSource();
  const [whole, setWhole] = useState(input.cut ? undefined : input.text);
  const [note, setNote] = useState("");
  const [said, setSaid] = useState<{ readonly text: string; readonly isError: boolean }>();
  const [isSent, setSent] = useState(false);
  const title = useId();
  const canDecide = decide !== undefined && isOpen && !isSent && whole !== undefined && why !== "result";
  const send = async (allow: boolean) => {
    if (!canDecide) return;
    setSent(true);
    try {
      await decide(execution, id, { allow, ...(note === "" ? {} : { note }) });
      setSaid({ text: allow ? "Allowed." : "Denied.", isError: false });
    } catch (error) {
      setSent(false);
      setSaid({ text: error instanceof Error ? error.message : String(error), isError: true });
    }
  };
  const fetchWhole = () => {
    call?.(execution, id, new AbortController().signal).then(
      (texts) => setWhole(texts.input),
      (error: unknown) => setSaid({ text: String(error), isError: true }),
    );
  };
  return (
    <article class="approval" data-approval={id} data-state={isOpen ? "waiting" : "decided"} aria-labelledby={title}>
      <h3 id={title}>
        <Text text={tool} />{" "}
        <small>
          call <Text text={id} />
        </small>
      </h3>
      {!isShort && (
        <>
          <p class="hint">
            It {WAITS[why]}.{why === "outcome_unknown" && UNKNOWN} Since {time(since)}.{" "}
            {inputDigest !== undefined && (
              <span class="number" title="SHA-256 of the input">
                SHA-256 {inputDigest.slice(0, 12)}…
              </span>
            )}
          </p>
          <div class="approval-input">
            <WholeInput tool={tool} text={whole ?? input.text} name={`Input of call ${id}`} />
            {whole === undefined && (
              <p class="hint">
                Only the beginning of {bytes(input.bytes)} is shown. See all of it before you decide.{" "}
                {call && (
                  <button type="button" onClick={fetchWhole}>
                    Show all
                  </button>
                )}
              </p>
            )}
          </div>
        </>
      )}
      <div class="approval-foot">
        {!isShort && decide && why !== "result" && (
          <div class="decide">
            <label>
              Note (a denied program reads it){" "}
              <input
                type="text"
                value={note}
                maxLength={1000}
                onInput={({ currentTarget }) => setNote(currentTarget.value)}
              />
            </label>
            <button
              type="button"
              class="allow"
              aria-disabled={!canDecide}
              aria-describedby={title}
              onClick={() => void send(true)}
            >
              Allow
            </button>
            <button
              type="button"
              class="deny"
              aria-disabled={!canDecide}
              aria-describedby={title}
              onClick={() => void send(false)}
            >
              Deny
            </button>
          </div>
        )}
        <p role={said?.isError ? "alert" : "status"} class={said?.isError ? "problem" : "hint"}>
          {said && <Text text={said.text} />}
        </p>
      </div>
    </article>
  );
}

const UNKNOWN = " Allow runs it again; Deny tells the program that its outcome is unknown.";

/** All of an input is in the document, whatever its size: who decides has to be able to read it. */
function WholeInput({ tool, text, name }: { readonly tool: string; readonly text: string; readonly name: string }) {
  return (
    <pre tabIndex={0} role="region" aria-label={name} class="whole">
      <Text text={(tool === "run_program" && sourceIn(text)) || prettyJson(text)} />
    </pre>
  );
}

/** The source of a program that needs approval itself. Its language follows, so nothing of the input is left out. */
function sourceIn(text: string): string | undefined {
  try {
    const input = JSON.parse(text) as Readonly<Record<string, unknown>>;
    const { source, language, ...more } = input;
    const isProgram = typeof source === "string" && Object.keys(more).length === 0;
    return isProgram ? `${source}\n\n(${String(language)})` : undefined;
  } catch {
    return undefined;
  }
}
