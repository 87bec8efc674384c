import { expect, test } from "vitest";
import { callAbout } from "../../../src/executions/output/call-about.ts";
import { hintFor } from "../../../src/executions/output/hint.ts";
import { endingSentence } from "../../../src/executions/output/sentences.ts";
import { DEFAULT_LIMITS } from "../../../src/executions/limits.ts";
import type { CrashCode, StoppedBy } from "../../../src/executions/outcome.ts";
import { ToolSet } from "../../../src/tools/tool-set.ts";
import { holdSentences } from "../../support/sentences.ts";
import { makeTool } from "../../support/tools.ts";

const tool = (name: string) => makeTool({ name, execute: () => null });
const tools = new ToolSet([tool("crm.listPeople"), tool("billing.listInvoices")]);
const hint = (message: string, excerpt = "") => hintFor({ name: "TypeError", message, excerpt }, tools);

/** Names that programs miss, because they know them from elsewhere. */
const MISSED = ["fetch", "require", "process", "fs", "window", "_", "setImmediate", "Temporal", "WebAssembly"];

/** What each limit may be: those of a program, of the runtime and of an engine. */
const ALLOWED: { readonly [Name in StoppedBy]: number } = {
  ...DEFAULT_LIMITS,
  queue: 1000,
  heldBytes: 64 * 1024 * 1024,
};
const CRASHES: Readonly<Record<CrashCode, true>> = { engine_died: true, bridge_broken: true, replay_diverged: true };
const SECRET = "a secret of the host";

const stopped = Object.entries(ALLOWED).map(([limit, allowed]) =>
  endingSentence({ type: "stopped", limit: limit as StoppedBy, allowed, seen: 1 }, undefined, false),
);
const crashed = Object.keys(CRASHES).map((code) =>
  endingSentence({ type: "crashed", code: code as CrashCode, detail: SECRET }, undefined, true),
);

test("each ending, each hint for a program that failed, and what a person reads of a call have one sentence", () => {
  expect(crashed.join()).not.toContain(SECRET);
  return holdSentences([
    ...stopped,
    ...crashed,
    endingSentence({ type: "cancelled" }, undefined, true),
    ...MISSED.map((name) => hint(`${name} is not defined`)),
    hint("tools.crm.listPeopl is not a function"),
    hint("tools.zzzzzz is not a function"),
    hint("tools.search_tools is not a function"),
    hint("rows is not iterable", "for (const row of tools.crm.listPeople({})) f(row)"),
    hint("tools.crm.listPeople(...).filter is not a function", "tools.crm.listPeople({}).filter(f)"),
    hintFor({ name: "Error", message: "No.", unawaited: "crm.listPeople" }, tools),
    hintFor({ name: "TypeError", message: "tools.a is not a function" }, new ToolSet([])),
    ...(["read", "idempotent", "write"] as const).flatMap((effect) =>
      [undefined, "files"].map((source) => callAbout({ effect, source, description: "Pays" })),
    ),
  ]);
});

test.each([
  [{}, undefined, "TypeError: No."],
  [{}, "Do this.", "TypeError: No.\nDo this."],
  [{ line: 2, column: 5 }, undefined, "TypeError at line 2, column 5: No."],
  [{ line: 2, column: 5, excerpt: "a.b()" }, "Do this.", "TypeError at line 2, column 5: No.\n  2 | a.b()\nDo this."],
  [{ excerpt: "a.b()" }, undefined, "TypeError: No."],
])("a fault (%j, hint %j) is told as a compiler would", (place, hint, text) => {
  expect(endingSentence({ type: "failed", fault: { name: "TypeError", message: "No.", ...place } }, hint, true)).toBe(
    text,
  );
});
