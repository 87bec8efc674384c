import { useId, useState } from "preact/hooks";
import type { CallTexts, WaitingView } from "../../../src/serve/views/view.ts";
import { CHANGES, grantText } from "../../../src/executions/output/grant-text.ts";
import { ANSWERS, type AnswerWords, WAITS } from "../../../src/serve/views/words.ts";
import type { Decision } from "../../data/source.ts";
import { useSource } from "../../data/use-source.ts";
import { bytes, timeToday } from "../../format.ts";
import { prettyJson } from "../../pretty-json.ts";
import { Text } from "../../text.tsx";

export interface ApprovalProps {
  readonly execution: string;
  readonly waiting: WaitingView;
  /** What became of it, if it waits no more. */
  readonly fate: string | undefined;
  /** Nothing waits any more: what is left is what was said. */
  readonly isShort: boolean;
}

/** One call that waits, with its whole input, and what was said about it. */
export function Approval({ execution, waiting, fate, isShort }: ApprovalProps) {
  const { id, tool, why, effect, input, rawInput, hold } = waiting;
  const { decide, call } = useSource();
  const [whole, setWhole] = useState<Pick<CallTexts, "input" | "rawInput"> | undefined>(
    (input.cut ?? rawInput?.cut) ? undefined : { input: input.text, ...(rawInput && { rawInput: rawInput.text }) },
  );
  const sent = whole ? whole.rawInput : rawInput?.text;
  const [said, setSaid] = useState<Said>();
  const told = said?.isError ? fate : (said?.text ?? fate);
  const title = useId();
  const names = `${title} ${title}-id`;
  const fetchWhole = () => {
    call(execution, id, new AbortController().signal).then(
      (texts) => setWhole(texts),
      (error: unknown) => setSaid({ text: String(error), isError: true }),
    );
  };
  return (
    <article
      class="approval"
      data-approval={id}
      data-state={fate === undefined ? "waiting" : "decided"}
      aria-labelledby={names}
    >
      <Name waiting={waiting} title={title} isShort={isShort} />
      <div class="approval-said">
        {!isShort && (
          <p class={`hint ${told === undefined ? "" : "past"}`}>
            It {WAITS[why]}, since {timeToday(waiting.since)}.
            {why === "outcome_unknown" && ANSWERS[why].map(({ verb, effect }) => ` “${verb}”: ${effect}.`)}
            {effect !== undefined && why !== "result" && <b class="changes"> {CHANGES[effect]}</b>}
          </p>
        )}
        {!isShort && waiting.policy !== undefined && (
          <p class="hint" data-policy>
            <Text text={waiting.policy} />
          </p>
        )}
        <p role="status">{told !== undefined && <Text text={told} />}</p>
      </div>
      {!isShort && (
        <div class="approval-input">
          <WholeInput tool={tool} text={whole?.input ?? input.text} name={`Input of call ${id}`} />
          {sent !== undefined && (
            <>
              <p class="hint">The tool's schema made it of this input:</p>
              <WholeInput tool={tool} text={sent} name={`Input of call ${id}, as it was sent`} />
            </>
          )}
          {whole === undefined && (
            <p class="hint">
              Only the beginning of {bytes(input.bytes + (rawInput?.bytes ?? 0))} is shown. See all of it before you
              decide.{" "}
              <button type="button" onClick={fetchWhole}>
                Show all
              </button>
            </p>
          )}
        </div>
      )}
      <div class="approval-foot">
        {!isShort && why !== "result" && (
          <Decide
            names={names}
            tool={tool}
            why={why}
            isReady={fate === undefined && whole !== undefined}
            onDecided={(decision) => decide(execution, id, { ...decision, ...(hold !== undefined && { hold }) })}
            onSaid={setSaid}
          />
        )}
        {said?.isError && (
          <p role="alert" class="problem">
            <Text text={said.text} />
          </p>
        )}
      </div>
    </article>
  );
}

interface Said {
  readonly text: string;
  readonly isError: boolean;
}

interface NameProps {
  readonly waiting: WaitingView;
  /** Id of the tool's name in the document; that of the call's id begins so. */
  readonly title: string;
  readonly isShort: boolean;
}

/** The tool and the id of the call. The digest of its input is behind the id. */
function Name({ waiting: { id, tool, inputDigest }, title, isShort }: NameProps) {
  const name = (
    <>
      call <Text text={id} />
    </>
  );
  return (
    <div class="approval-head">
      <h3 id={title}>
        <Text text={tool} />
      </h3>
      {inputDigest === undefined || isShort ? (
        <small id={`${title}-id`}>{name}</small>
      ) : (
        <details>
          <summary id={`${title}-id`}>{name}</summary>
          <p class="hint">
            SHA-256 of its input: <code>{inputDigest}</code>
          </p>
        </details>
      )}
    </div>
  );
}

interface DecideProps {
  /** Ids of the elements that name the call. */
  readonly names: string;
  readonly tool: string;
  readonly why: keyof typeof ANSWERS;
  /** The call waits, and its whole input is shown. */
  readonly isReady: boolean;
  readonly onDecided: (decision: Decision) => Promise<void>;
  readonly onSaid: (said: Said) => void;
}

function Decide({ names, tool, why, isReady, onDecided, onSaid }: DecideProps) {
  const [note, setNote] = useState("");
  const [more, setMore] = useState(0);
  const [result, setResult] = useState<string>();
  const [isSent, setSent] = useState(false);
  const canDecide = isReady && !isSent;
  // Further calls of a tool are allowed with one that was not begun.
  const takesGrant = why === "approval" && tool !== "run_program";
  const send = async ({ answer, chosen }: AnswerWords) => {
    if (!canDecide) return;
    // The result is asked for first.
    if (answer === "done" && result === undefined) return setResult("");
    setSent(true);
    try {
      const grant = answer === "allow" && more > 0 ? { grant: { calls: more } } : {};
      const done = answer === "done" ? { result: jsonIn(result ?? "") } : {};
      await onDecided({ answer, ...done, ...(note === "" ? {} : { note }), ...grant });
      const further = grant.grant ? `, and ${grantText(grant.grant, Date.now(), tool)}` : "";
      onSaid({ text: `${chosen}${further}.`, isError: false });
    } catch (error) {
      setSent(false);
      onSaid({ text: error instanceof Error ? error.message : String(error), isError: true });
    }
  };
  return (
    <div class="decide">
      <label>
        {why === "approval" ? "Note (a denied program reads it)" : "Note"}{" "}
        <input
          type="text"
          value={note}
          maxLength={1000}
          onInput={({ currentTarget }) => setNote(currentTarget.value)}
        />
      </label>
      {takesGrant && (
        <label>
          Further calls of it that need no decision{" "}
          <input
            type="number"
            min={0}
            max={1_000_000}
            value={more}
            onInput={({ currentTarget }) => setMore(Math.max(0, Math.floor(Number(currentTarget.value)) || 0))}
          />
        </label>
      )}
      {result !== undefined && (
        <label>
          Its result, as JSON (null for none), then the same button{" "}
          <input
            type="text"
            class="result"
            ref={focus}
            value={result}
            onInput={({ currentTarget }) => setResult(currentTarget.value)}
          />
        </label>
      )}
      {ANSWERS[why].map((one) => (
        <button
          type="button"
          key={one.answer}
          class={one.answer}
          aria-disabled={!canDecide}
          aria-describedby={names}
          onClick={() => void send(one)}
        >
          {one.verb}
        </button>
      ))}
    </div>
  );
}

const focus = (input: HTMLInputElement | null) => input?.focus();

/** A text that is JSON. Throws a sentence for who wrote it. */
function jsonIn(text: string): string {
  try {
    JSON.parse(text);
    return text;
  } catch {
    throw new Error('The result is not JSON: write a text in quotes, like "paid", and null for no result.');
  }
}

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
