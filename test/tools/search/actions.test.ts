import { expect, test } from "vitest";
import { actionFit, actionOf, actionsAskedFor } from "../../../src/tools/search/actions.ts";
import { wordsOf } from "../../../src/tools/search/words.ts";
import { tool } from "../../support/tools.ts";

test.each([
  ["which invoices are open", ["list"]],
  ["unread messages from my boss", ["list"]],
  ["Set up a call", ["create"]],
  ["set the title", ["create", "update"]],
  ["throw a note away", ["delete"]],
  ["the status of it", []],
  ["address of a customer", []],
  ["constructor __proto__", []],
  ["客户", []],
  ["", []],
])("what a query asks for is read from how it begins: %s", (query, actions) => {
  expect([...actionsAskedFor(query)]).toEqual(actions);
});

test.each([
  ["the first word of its description", "notes.thing", "Removes a note.", "write", "delete"],
  ["else the first verb of its name", "notes.renameAll", "All of them.", "write", "update"],
  ["not a method of HTTP", "notes.PostNotes", "Of a customer.", "write", undefined],
  ["else that it reads", "notes.thing", "Of a customer.", "read", "get"],
] as const)("what a tool does is told by %s", (_, name, description, effect, action) => {
  const one = { ...tool(name, () => null, { effect }), description };
  expect(actionOf(one, wordsOf(name.split(".").slice(1).join(" ")))).toBe(action);
});

test("a tool that does the opposite fits least, one whose query tells nothing neither more nor less", () => {
  const asked = new Set(["create"] as const);
  const fits = [
    actionFit(asked, "create", "write"),
    actionFit(asked, undefined, "write"),
    actionFit(asked, "update", "write"),
    actionFit(asked, "delete", "write"),
    actionFit(asked, "list", "read"),
  ];
  expect(fits).toEqual(fits.toSorted((a, b) => b - a));
  expect(actionFit(new Set(), "delete", "write")).toBe(1);
});
