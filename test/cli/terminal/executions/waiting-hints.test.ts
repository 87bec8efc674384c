import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { REMEDIES } from "../../../../src/base/index.ts";
import { completeHint, resumeCommand, waitingHints } from "../../../../src/cli/terminal/executions/waiting-hints.ts";

/** Words that a shell reads of the lines below the hints. */
function pasted(hints: readonly string[]): string[][] {
  const commands = hints.map((hint) => hint.slice(hint.indexOf("\n") + 1));
  const script = `portcullis() { printf '%s\\0' "$@"; printf '\\n'; }\n${commands.join("\n")}`;
  const lines = execFileSync("sh", ["-euc", script], { encoding: "utf8" }).trimEnd().split("\n");
  return lines.map((line) => line.split("\0").slice(0, -1));
}

test("the lines below hints can be pasted: a shell reads them as the command that was meant, with the tools of this one", () => {
  const same = {
    journal: "my journal.db",
    tenant: "a'b",
    tools: "./t.js",
    mcp: ["a.json", "b.json"],
    model: "./m.ts",
    baseUrl: "http://host/my models",
    fallback: ["openai:a", "openai:b"],
    stream: false,
    sandbox: "docker",
    approve: "later",
    artifacts: "kept",
  } as const;
  const about = { tool: "pay", input: {}, waitsUntil: 0, caller: "programmatic" } as const;
  const hints = waitingHints(
    "exe; rm -rf /",
    {
      type: "waiting",
      approvals: [
        { ...about, callId: "1", why: "approval" },
        { ...about, callId: "call_2/3", why: "outcome_unknown" },
      ],
      calls: [{ ...about, callId: "$(4)" }],
    } as unknown as Parameters<typeof waitingHints>[1],
    same,
  );
  const where = ["--tenant", "a'b", "--journal", "my journal.db"];
  const sources = ["--tools", "./t.js", "--mcp", "a.json", "--mcp", "b.json"];
  const models = ["--model", "./m.ts", "--base-url", "http://host/my models", "--fallback", "openai:a"];
  const others = ["--fallback", "openai:b", "--no-stream", "--sandbox", "docker", "--approve", "later"];
  const resume = ["resume", "exe; rm -rf /", ...sources, ...models, ...others, "--artifacts", "kept"];
  expect(pasted(hints)).toEqual([
    ["decide", "exe; rm -rf /", "1", "--allow", ...where],
    ["decide", "exe; rm -rf /", "call_2/3", "--done", "JSON", ...where],
    ["decide", "exe; rm -rf /", "call_2/3", "--allow", ...where],
    ["decide", "exe; rm -rf /", "call_2/3", "--deny", ...where],
    [...resume, ...where, "--result", "$(4)=JSON"],
    [...resume, ...where],
  ]);
});

test.each([
  [1, "1 further call is shown once these are decided."],
  [30, "30 further calls are shown once these are decided."],
])("%i further calls are told in a sentence", (more, sentence) => {
  const ended = { type: "waiting", approvals: [], calls: [], more } as const;
  expect(waitingHints("one", ended, {})).toEqual([`portcullis: ${sentence}`]);
});

test("what a command has by default is not repeated, and a provider's model is named by the journal", () => {
  const given = { model: "openai:a", journal: "a.db" };
  const usual = { sandbox: "isolate", approve: "ask", stream: true, fallback: [], ...given } as const;
  expect(resumeCommand("one", usual)).toBe("portcullis resume one --journal a.db");
});

test.each(["https://me:key@host/v1", "https://key@host/v1", "https://host/v1?key=key", "https://host/v1#key", "key"])(
  "an address that may hold a key is not repeated: %s",
  (baseUrl) => {
    expect(resumeCommand("one", { baseUrl })).toBe("portcullis resume one --base-url URL");
  },
);

test("an error that ends with a call of the library names the command in its place, with the journal of this command", () => {
  const given = { execution: "e", journal: "a.db" };
  const hintOf = (code: keyof typeof REMEDIES) => completeHint({ code, message: `Not here. ${REMEDIES[code]}` }, given);
  expect(hintOf("call_unknown")).toMatch(/^Not here\. .*: portcullis show e --journal a\.db$/);
  expect(hintOf("execution_unknown")).toMatch(/^Not here\. .*: portcullis show --journal a\.db$/);
  const message = `runtime.executions.list() is no function of a module's own. ${REMEDIES.call_unknown}`;
  expect(completeHint({ code: "tool_failed", message }, given)).toBe(message);
});
