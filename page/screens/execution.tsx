import { useEffect, useState } from "preact/hooks";
import type { ExecutionView } from "../../src/views/view.ts";
import { byText, stateText } from "../../src/views/words.ts";
import { useExecution } from "../data/use-source.ts";
import { duration, time } from "../format.ts";
import { Approvals } from "../parts/approvals.tsx";
import { CompareWith } from "../parts/compare-with.tsx";
import { Problem } from "../parts/problem.tsx";
import { linkTo } from "../route.ts";
import { Text } from "../text.tsx";
import { visibleText } from "../visible-text.ts";
import { ConversationPanels } from "./conversation.tsx";
import { HostCallPanels, ProgramPanels } from "./program.tsx";

export function Execution({ execution }: { readonly execution: string }) {
  const { value: view, error, again } = useExecution(execution);
  useEffect(() => {
    document.title = view ? `${view.state} · ${visibleText(execution)}` : "Portcullis";
  }, [view?.state]);
  if (!view)
    return <main class="execution-screen">{error === undefined ? <p>Loading …</p> : <Problem error={error} />}</main>;
  return (
    <main class="execution-screen" data-execution={view.execution} data-state={view.state} data-records={view.records}>
      <Head view={view} />
      {error !== undefined && <Problem error={error} />}
      <Panels view={view} />
      <Approvals execution={view.execution} waiting={view.waiting} onDecided={again} />
    </main>
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

const WHAT = { program: "Program", conversation: "Conversation", call: "Call of a host" } as const;

function Head({ view }: { readonly view: ExecutionView }) {
  const { execution, kind, state, tenant, startedAt, lastAt, outcome, parent, driven, versions } = view;
  const now = useNow(state === "running" && driven);
  return (
    <header class="execution-head">
      <h1>
        {WHAT[kind]} <Text text={execution} />
      </h1>
      <p>
        <span class={`state ${state} ${outcome?.type ?? ""}`} role="status">
          <Text text={stateText({ state, driven, outcome: outcome?.type })} />
        </span>{" "}
        <span class="head-time">
          {duration(Math.max(0, (state === "running" && driven ? now : lastAt) - startedAt))}
        </span>{" "}
        <span class="hint">
          <Text
            text={[byText(view), `tenant ${tenant}`, `began ${time(startedAt)}`]
              .filter((part) => part !== "")
              .join(" · ")}
          />
        </span>
        {parent && (
          <>
            {" "}
            <a href={linkTo("execution", parent.execution)}>
              call <Text text={parent.call} /> of its conversation
            </a>
          </>
        )}
      </p>
      {kind === "program" && <CompareWith view={view} />}
      <details class="versions">
        <summary>Versions</summary>
        <Text text={versions.map(({ name, text }) => `${name} ${text}`).join(", ")} />
      </details>
    </header>
  );
}

/** The time, again and again while it runs. */
function useNow(isRunning: boolean): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    if (!isRunning) return;
    const timer = setInterval(() => setNow(Date.now()), 250);
    return () => clearInterval(timer);
  }, [isRunning]);
  return now;
}
