import type { CallView } from "../../src/serve/views/view.ts";
import { callText, codeText, streamText } from "../../src/serve/views/words.ts";
import { bytes, count, duration, tookText } from "../format.ts";
import { Text } from "../text.tsx";
import { visibleText } from "../visible-text.ts";
import type { CallRow } from "../../src/serve/views/call-groups.ts";
import { Strip, type StripScale } from "./strip.tsx";

export interface CallLineProps {
  readonly id: string;
  readonly row: CallRow;
  readonly scale: StripScale;
  readonly isActive: boolean;
  readonly isChosen: boolean;
  readonly isOpen: boolean;
  readonly place: { readonly index: number; readonly of: number };
  readonly onClick: () => void;
}

/** A call, or many equal calls. */
export function CallLine({ id, row, scale, isActive, isChosen, isOpen, place, onClick }: CallLineProps) {
  const facts = row.type === "group" ? groupFacts(row) : callFacts(row);
  const level = row.type === "call" ? row.level : 1;
  const { items, bytes: streamedBytes } = row.type === "call" ? row.call : { bytes: 0 };
  const streamed = items === undefined ? {} : { "data-items": items, "data-bytes": streamedBytes };
  return (
    <div
      id={id}
      role="treeitem"
      class={`call-line ${isActive ? "active" : ""} ${isChosen ? "picked" : ""} ${items === undefined ? "" : "stream"} level-${level}`}
      aria-level={level}
      aria-posinset={place.index + 1}
      aria-setsize={place.of}
      aria-selected={isActive}
      aria-expanded={row.type === "group" ? isOpen : undefined}
      aria-label={visibleText(facts.name)}
      data-call={row.type === "call" ? row.call.id : undefined}
      data-count={row.type === "group" ? row.group.calls.length : undefined}
      data-state={facts.state}
      {...streamed}
      onClick={onClick}
    >
      <span class="call-mark" aria-hidden="true">
        {row.type === "group" ? (isOpen ? "▾" : "▸") : ""}
      </span>
      <span class="call-name">
        <span>
          <Text text={facts.tool} />
        </span>
        {facts.times !== "" && <b>{facts.times}</b>}
      </span>
      <span class={`call-state ${facts.state}`}>
        <Text text={facts.word} />
      </span>
      <span class="number">{facts.ms}</span>
      <span class="number">{facts.size}</span>
      <Strip row={row} scale={scale} />
    </div>
  );
}

function groupFacts({ group }: CallRow & { readonly type: "group" }) {
  const { tool, state, detail, calls, took, bytes: size } = group;
  const word = codeText(callText({ state, detail }));
  return {
    tool,
    state,
    word,
    times: `× ${count(calls.length)}`,
    ms: took ? duration(took.inAll) : "",
    size: bytes(size),
    name: `${count(calls.length)} calls of ${tool}, ${word}${took ? `, ${tookText(took)}` : ""}, ${bytes(size)}`,
  };
}

function callFacts({ call }: CallRow & { readonly type: "call" }) {
  const { id, tool, state, ms, items, bytes: size } = call;
  const word = codeText(callText(call));
  const took = ms === undefined ? "" : duration(ms);
  const hasSize = state === "value" || items !== undefined;
  const sizeText = items === undefined ? bytes(size) : streamText({ items, bytes: size }, state === "open");
  return {
    tool,
    state,
    word,
    times: "",
    ms: took,
    size: hasSize ? bytes(size) : "",
    name: `call ${id} of ${tool}, ${items === undefined ? word : codeText(stateOf(call))}${took === "" ? "" : `, ${took}`}${hasSize ? `, ${sizeText}` : ""}`,
  };
}

/** The state of a stream without how far it is. */
function stateOf({ state, detail }: CallView): string {
  return callText(state === "value" || detail === undefined ? { state } : { state, detail });
}
