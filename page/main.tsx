import { render } from "preact";
import { useErrorBoundary, useLayoutEffect, useRef } from "preact/hooks";
import { serverSource } from "./data/server-source.ts";
import { takeToken } from "./data/token.ts";
import { SourceContext } from "./data/use-source.ts";
import { Main } from "./parts/main.tsx";
import { Problem } from "./parts/problem.tsx";
import { Hatch } from "./timeline/axis.tsx";
import { type Route, useRoute } from "./route.ts";
import { Compare } from "./screens/compare.tsx";
import { Execution } from "./screens/execution.tsx";
import { List } from "./screens/list.tsx";

const token = takeToken();
const source = serverSource(() => token);

function App() {
  const route = useRoute();
  const key = JSON.stringify(route);
  const shown = useRef(key);
  // What had the focus is gone with the screen before.
  useLayoutEffect(() => {
    if (shown.current !== key) document.querySelector("main")?.focus({ preventScroll: true });
    shown.current = key;
  }, [key]);
  return (
    <SourceContext.Provider value={source}>
      <Hatch />
      <nav aria-label="Main">
        <div class="nav-inner">
          <a href="#/" aria-current={route.screen === "list" ? "page" : undefined}>
            <Mark />
            Portcullis <span class="quiet">/ Executions</span>
          </a>
        </div>
      </nav>
      <Guarded key={key} route={route} />
    </SourceContext.Provider>
  );
}

/** A gate, as in the icon of the page. */
function Mark() {
  return (
    <svg viewBox="0 0 16 16" aria-hidden="true">
      <path d="M2 14V7a6 6 0 0 1 12 0v7h-1.5V3.6H11V14H9.5V2.5h-3V14H5V3.6H3.5V14zM2 8h12v1.2H2z" />
    </svg>
  );
}

/** What cannot be shown leaves the way to other screens. */
function Guarded({ route }: { readonly route: Route }) {
  const [error] = useErrorBoundary();
  if (error === undefined) return <Screen route={route} />;
  return (
    <Main>
      <Problem error={error} />
    </Main>
  );
}

function Screen({ route }: { readonly route: Route }) {
  switch (route.screen) {
    case "list":
      return <List />;
    case "execution":
      return <Execution key={route.execution} execution={route.execution} />;
    case "compare":
      return <Compare key={`${route.one} ${route.other}`} one={route.one} other={route.other} />;
  }
}

const root = document.querySelector("#page");
if (root) render(<App />, root);
