import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { ExecutionView, WaitingView } from "../../../src/serve/views/view.ts";
import { callText, capital, codeText, decisionText } from "../../../src/serve/views/words.ts";
import { count, countText } from "../../format.ts";
import { Approval } from "./approval.tsx";
import { firstOpen } from "./first-open.ts";
import { Text } from "../../text.tsx";
import { visibleText } from "../../visible-text.ts";

type Decided = Pick<ExecutionView, "execution" | "kind" | "outcome" | "calls">;

export interface ApprovalsProps {
  readonly view: Decided & Pick<ExecutionView, "waiting">;
}

/**
 * The calls that wait for a person. A decided call stays in its place, with its buttons off: otherwise a second click
 * could decide the call that took its place.
 */
export function Approvals({ view }: ApprovalsProps) {
  const { waiting } = view;
  const id = useId();
  const [kept, setKept] = useState<readonly WaitingView[]>([]);
  const [isHidden, setHidden] = useState(false);
  const close = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);
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
  const goTo = (index: number) => {
    const approval = list.current?.children[index];
    approval?.scrollIntoView({ block: "start" });
    approval?.querySelector<HTMLElement>(".whole")?.focus({ preventScroll: true });
  };
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
              : `${countText(waiting.length, "call")} wait${waiting.length === 1 ? "s" : ""}`}
          </h2>
          {shown.length > 1 && !isOver && !isHidden && <Ways shown={shown} open={open} onWay={goTo} />}
          {isOver ? (
            <button type="button" ref={close} onClick={() => setKept([])}>
              Close
            </button>
          ) : (
            <button type="button" aria-expanded={!isHidden} onClick={() => setHidden(!isHidden)}>
              {isHidden ? "Show" : "Hide"}
            </button>
          )}
        </header>
        {(isOver || !isHidden) && (
          <div class="approvals-list" ref={list}>
            {shown.map((one) => (
              <Approval
                key={one.id}
                execution={view.execution}
                waiting={one}
                fate={open.has(one.id) ? undefined : fateOf(view, one.id)}
                isShort={isOver}
              />
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

interface WaysProps {
  readonly shown: readonly WaitingView[];
  readonly open: ReadonlySet<string>;
  readonly onWay: (index: number) => void;
}

/** A way to each call. */
function Ways({ shown, open, onWay }: WaysProps) {
  return (
    <ul class="approvals-ways" aria-label="Go to a call">
      {shown.map(({ id, tool }, index) => (
        <li key={id}>
          <button
            type="button"
            class={open.has(id) ? "" : "decided"}
            aria-label={visibleText(`Call ${id} of ${tool}, ${open.has(id) ? "waits" : "waits no more"}`)}
            onClick={() => onWay(index)}
          >
            <Text text={id} />
          </button>
        </li>
      ))}
    </ul>
  );
}

function merged(kept: readonly WaitingView[], waiting: readonly WaitingView[]): readonly WaitingView[] {
  const known = new Set(kept.map(({ id }) => id));
  return [...kept, ...waiting.filter(({ id }) => !known.has(id))];
}

/** What became of a call that waits no more. */
function fateOf({ kind, outcome, calls }: Decided, id: string): string {
  // The calls of a conversation's program are not listed.
  const call = calls.find((one) => one.id === id);
  if (call?.decision) {
    const { by } = call.decision;
    return `${capital(decisionText(call.decision))}${by === undefined ? "" : ` by ${by}`}.`;
  }
  if (call?.state !== "aborted") return call ? `${capital(codeText(callText(call)))}.` : "It waits no more.";
  return `Not decided: the ${kind === "conversation" ? kind : "program"} ${outcome ? "ended" : "gave it up"}.`;
}
