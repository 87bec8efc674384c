import { useState } from "preact/hooks";
import type { ProgramView } from "../../src/serve/views/view.ts";
import type { Row } from "../data/source.ts";
import { useSource } from "../data/use-source.ts";
import { duration, time } from "../format.ts";
import { linkTo } from "../route.ts";
import { Text } from "../text.tsx";
import { Problem } from "./problem.tsx";
import { State } from "./state.tsx";

/** Characters of the source by which other executions of the program are looked for. */
const SEARCHED = 200;

/** Leads to the comparisons with other executions of the same program. */
export function CompareWith({ view }: { readonly view: ProgramView }) {
  const source = useSource();
  const [others, setOthers] = useState<readonly Row[]>();
  const [problem, setProblem] = useState<unknown>();
  const look = async () => {
    try {
      const text = view.source.slice(0, SEARCHED);
      const { executions } = await source.list({ text }, new AbortController().signal);
      setOthers(executions.filter(({ execution, kind }) => kind === "program" && execution !== view.execution));
      setProblem(undefined);
    } catch (error) {
      setProblem(error);
    }
  };
  return (
    <details class="compare-with" onToggle={({ currentTarget }) => void (currentTarget.open && look())}>
      <summary>Compare with …</summary>
      {problem !== undefined && <Problem error={problem} />}
      {others === undefined ? (
        problem === undefined && <p class="empty">Looking …</p>
      ) : others.length === 0 ? (
        <p class="empty">No other execution of this program was found.</p>
      ) : (
        <ul>
          {others.map(({ execution, startedAt, outcome, state, driven, ms }) => (
            <li key={execution}>
              <a href={linkTo("compare", view.execution, execution)}>{time(startedAt)}</a>{" "}
              <State state={state} driven={driven} outcome={outcome} />{" "}
              {ms !== undefined && <span class="number">{duration(ms)}</span>}{" "}
              <code class="quiet">
                <Text text={execution} />
              </code>
            </li>
          ))}
        </ul>
      )}
    </details>
  );
}
