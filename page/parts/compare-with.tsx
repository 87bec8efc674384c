import { useState } from "preact/hooks";
import type { ProgramView } from "../../src/views/view.ts";
import type { Row } from "../data/source.ts";
import { stateText } from "../../src/views/words.ts";
import { useSource } from "../data/use-source.ts";
import { time } from "../format.ts";
import { linkTo } from "../route.ts";
import { visibleText } from "../visible-text.ts";

/** Characters of the source by which other executions of the program are looked for. */
const SEARCHED = 200;

/** Leads to the comparison with another execution of the same program. */
export function CompareWith({ view }: { readonly view: ProgramView }) {
  const source = useSource();
  const [others, setOthers] = useState<readonly Row[]>();
  const look = async () => {
    if (others) return;
    const text = view.source.slice(0, SEARCHED);
    const { executions } = await source.list({ text }, new AbortController().signal);
    setOthers(executions.filter(({ execution, kind }) => kind === "program" && execution !== view.execution));
  };
  return (
    <label class="compare-with">
      Compare with{" "}
      <select
        onFocus={() => void look()}
        onPointerDown={() => void look()}
        onChange={({ currentTarget }) => {
          if (currentTarget.value !== "")
            location.hash = linkTo("compare", view.execution, currentTarget.value).slice(1);
        }}
      >
        <option value="">{others?.length === 0 ? "no other execution of it" : "another execution …"}</option>
        {others?.map(({ execution, startedAt, outcome, state }) => (
          <option key={execution} value={execution}>
            {`${time(startedAt)}, ${stateText({ state, outcome })}, ${visibleText(execution)}`}
          </option>
        ))}
      </select>
    </label>
  );
}
