import { useEffect, useState } from "preact/hooks";
import type { ExecutionView } from "../../src/serve/views/view.ts";
import { byText, leadText, stateText } from "../../src/serve/views/words.ts";
import { timeOf } from "../../src/serve/views/timeline.ts";
import { useExecution } from "../data/use-source.ts";
import { duration, time } from "../format.ts";
import { Approvals } from "../parts/approvals/approvals.tsx";
import { CompareWith } from "../parts/compare-with.tsx";
import { Main } from "../parts/main.tsx";
import { NotShown, Problem } from "../parts/problem.tsx";
import { State } from "../parts/state.tsx";
import { useHasRun } from "../parts/has-run.ts";
import { linkTo } from "../route.ts";
import { Text } from "../text.tsx";
import { ConversationPanels } from "./conversation.tsx";
import { HostCallPanels, ProgramPanels } from "./program.tsx";

export function Execution({ execution }: { readonly execution: string }) {
  const { value: view, error } = useExecution(execution);
  if (!view)
    return <Main>{error === undefined ? <p>Loading …</p> : <NotShown executions={[execution]} error={error} />}</Main>;
  return (
    <Main
      tab={`${view.title} · ${stateOf(view)}`}
      data-execution={view.execution}
      data-state={view.state}
      data-records={view.records}
    >
      <Head view={view} />
      {error !== undefined && <Problem error={error} />}
      <Panels view={view} />
      <Approvals view={view} />
    </Main>
  );
}

function Panels({ view }: { readonly view: ExecutionView }) {
  switch (view.kind) {
    case "program":
      return <ProgramPanels view={view} />;
    case "conversation":
      return <ConversationPanels view={view} />;
    case "call":
      return <HostCallPanels view={view} />;
  }
}

function stateOf({ state, driven, needs, outcome }: ExecutionView): string {
  return stateText({ state, driven, needs, outcome: outcome?.type });
}

const WHAT = { program: "Program", conversation: "Conversation", call: "Call of a host" } as const;

/** What ran, how it stands, and what came of it. */
function Head({ view }: { readonly view: ExecutionView }) {
  const { execution, title, kind, state, tenant, startedAt, lastAt, outcome, parent, driven, versions } = view;
  const { from, until } = timeOf(view, useNow(view.outcome === undefined) ?? lastAt);
  const hasRun = useHasRun(view);
  const facts = [byText(view), ...(tenant === "default" ? [] : [`tenant ${tenant}`]), `began ${time(startedAt)}`];
  return (
    <header class="head">
      <p class="head-line">
        <span class={`head-state ${hasRun ? "kept" : ""}`}>
          <State state={state} driven={driven} needs={view.needs} outcome={outcome?.type} isLive />
        </span>
        <span class="head-time">{duration(until - from)}</span>
        <span class="quiet">{WHAT[kind]}</span>
        {parent && (
          <a href={linkTo("execution", parent.execution)}>
            of call <Text text={parent.call} /> of a conversation
          </a>
        )}
        {kind === "program" && view.corrects !== undefined && (
          <a href={linkTo("execution", view.corrects)}>corrects another one</a>
        )}
      </p>
      <h1>
        <Text text={title} />
      </h1>
      <p class={`lead ${outcome?.fault ? "failed" : state}`}>
        <Text text={leadText(view)} />
      </p>
      <div class="head-facts">
        <span>
          <Text text={facts.filter((fact) => fact !== "").join(" · ")} />
        </span>
        <details>
          <summary>
            <code>
              <Text text={execution} />
            </code>
          </summary>
          <Text text={versions.map(({ name, text }) => `${name} ${text}`).join(", ")} />
        </details>
        {kind === "program" && <CompareWith view={view} />}
      </div>
    </header>
  );
}

/** The time, again and again while it goes on; undefined if it does not. */
function useNow(goesOn: boolean): number | undefined {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    if (!goesOn) return;
    const timer = setInterval(() => setNow(Date.now()), 250);
    return () => clearInterval(timer);
  }, [goesOn]);
  return goesOn ? now : undefined;
}
