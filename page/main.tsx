import { render } from "preact";
import { fileSource, readFileData } from "./data/file-source.ts";
import { serverSource } from "./data/server-source.ts";
import { takeToken } from "./data/token.ts";
import { SourceContext } from "./data/use-source.ts";
import { linkTo, type Route, useRoute } from "./route.ts";
import { Compare } from "./screens/compare.tsx";
import { Execution } from "./screens/execution.tsx";
import { List } from "./screens/list.tsx";

const data = readFileData();
const first = data?.executions[0]?.execution;
if (first !== undefined && location.hash === "") history.replaceState(null, "", linkTo("execution", first));
const token = data ? undefined : takeToken();
const source = data ? fileSource(data) : serverSource(() => token);

function App() {
  const route = useRoute();
  return (
    <SourceContext.Provider value={source}>
      <nav aria-label="Main">
        <a href="#/" aria-current={route.screen === "list" ? "page" : undefined}>
          Portcullis
        </a>
      </nav>
      <Screen route={route} />
    </SourceContext.Provider>
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
