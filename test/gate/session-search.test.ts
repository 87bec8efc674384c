import { expect, test } from "vitest";
import { catalogueTools } from "../tools/search/catalogue-tools.ts";
import { makeTool, openSession } from "./open-session.ts";
import { testOfAll } from "../support/all-tests.ts";
import { countTurns } from "../support/count-turns.ts";

const own = makeTool({ name: "crm.find", description: "Finds a customer." });
const other = makeTool({ name: "secret.find", description: "Finds a customer.", allowedCallers: ["direct"] });

const search = { tool: "search_tools" };

test.each([
  ["another name of the search", { tool: "searchTools" }, "tool_unknown"],
  ["a caller that the session does not have", { ...search, caller: "direct" }, "tool_unknown"],
  ["an input that is no JSON", { ...search, inputText: "{" }, "input_invalid"],
  ["a field that names a caller", { ...search, inputText: '{"query":"x","caller":"direct"}' }, "input_invalid"],
  ["a field that names a tenant", { ...search, inputText: '{"query":"x","tenant":"other"}' }, "input_invalid"],
  ["a query of a megabyte", { ...search, inputText: JSON.stringify({ query: "x".repeat(900_000) }) }, "input_invalid"],
  ["a list as the query", { ...search, inputText: '{"query":["x"]}' }, "input_invalid"],
  ["a limit beyond all", { ...search, inputText: '{"query":"x","limit":1e9}' }, "input_invalid"],
] as const)("a forged search gains nothing: %s", async (_, forged, code) => {
  const { call } = openSession({ tools: [own, other] });
  const answer = await call({}, forged);
  expect(answer).toMatchObject({ ok: false, code });
  expect(JSON.stringify(answer)).not.toContain("secret");
});

testOfAll(
  "a hundred searches at once among 4,000 tools all get their answers, in turns of the event loop",
  async () => {
    const { call } = openSession({ tools: catalogueTools() });
    const turns = countTurns();
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, id) =>
        call({ query: "list the open issues of a repository" }, { ...search, callId: String(id) }),
      ),
    );
    expect(answers.every((answer) => answer?.ok)).toBe(true);
    expect(turns()).toBeGreaterThan(20);
  },
);
