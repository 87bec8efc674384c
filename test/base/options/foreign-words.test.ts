import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import {
  agentAsTool,
  createRuntime,
  createSqliteJournal,
  defineTool,
  fromMcpConfig,
  redactSecrets,
  type Runtime,
} from "../../../src/index.ts";
import { scriptedModel } from "../../../src/runtime/testing.ts";
import { failing, runtimeWith } from "../../support/index.ts";

test.each<[words: string, given: object, sentences: readonly string[]]>([
  [
    "of two options",
    { handler: () => 1, parameters: z.object({}) },
    ["`handler` is called `execute` here", "`parameters` is called `inputSchema` here"],
  ],
  ["beside an option that is undefined", { execute: undefined, run: () => 1 }, ["`run` is called `execute` here"]],
])("a tool in the words of other libraries is answered with those of this one: %s", (_, given, sentences) => {
  const tool = { name: "crm.find", description: "Finds", allowedCallers: ["direct"], effect: "read", ...given };
  for (const sentence of sentences)
    expect(() => defineTool(tool as never)).toThrow(expect.objectContaining(failing("tool_invalid", sentence)));
});

test("a journal that is the path of a file is told what to write", async () => {
  await expect(createRuntime({ tools: [], journal: "x.db" as never })).rejects.toMatchObject(
    failing("option_invalid", 'createSqliteJournal({ path: "x.db" })'),
  );
});

describe("a model that is a name, as on the command line,", () => {
  const NAME = "openai:gpt-5";
  const methods: [string, (runtime: Runtime, model: never) => Promise<unknown>][] = [
    ["agent", (runtime, model) => runtime.agent({ model, task: "Do it." })],
    ["converse", (runtime, model) => runtime.conversation({ model })],
    ["resumeAgent", (runtime, model) => runtime.execution("none").resume({ model })],
    ["fallbacks", (runtime, model) => runtime.agent({ model: scriptedModel([]), fallbacks: [model], task: "Do it." })],
    [
      "agentAsTool",
      async (_, model) => agentAsTool({ name: "a", description: "d", model, tools: [], allowedCallers: ["direct"] }),
    ],
  ];

  test.each(methods)("is taken by %s: only its key is missing", async (_, call) => {
    vi.stubEnv("OPENAI_API_KEY", "");
    await using runtime = await runtimeWith([]);
    await expect(call(runtime, NAME as never)).rejects.toMatchObject(failing("model_unavailable", "OPENAI_API_KEY"));
    vi.unstubAllEnvs();
  });

  test.each(methods)("is refused by %s where no provider has that name", async (_, call) => {
    await using runtime = await runtimeWith([]);
    for (const name of ["gpt-5", "opnai:gpt-5", "openai:", ":x", "constructor:x"])
      await expect(call(runtime, name as never)).rejects.toMatchObject({ code: "option_invalid" });
  });
});

test("redactSecrets that was not called is told so, before a text is left out", async () => {
  await expect(createRuntime({ tools: [], redact: redactSecrets as never })).rejects.toMatchObject(
    failing("option_invalid", "Call it: redact: redactSecrets()."),
  );
});

test("a promise is called so where a value is expected", async () => {
  await expect(createRuntime({ tools: Promise.resolve([]) as never })).rejects.toThrow("got a promise.");
});

test("a misspelt option of a list or of a deletion is refused, and lists or deletes nothing", async () => {
  using journal = createSqliteJournal({ path: ":memory:" });
  await using runtime = await runtimeWith([], { journal });
  await runtime.execute("return 1");
  const misspelt = { code: "option_invalid", message: expect.stringContaining("did you mean open?") };
  await expect(Array.fromAsync(runtime.executions.list({ opened: true } as never))).rejects.toMatchObject(misspelt);
  await expect(journal.prune({ before: Date.now(), opened: true } as never)).rejects.toMatchObject(misspelt);
  await expect(journal.prune({} as never)).rejects.toMatchObject({ code: "option_invalid" });
  expect(await Array.fromAsync(runtime.executions.list())).toHaveLength(1);
});

test("a configuration file of MCP servers that is no path is refused by the name of the argument", async () => {
  await expect(fromMcpConfig(undefined as never)).rejects.toMatchObject(
    failing("option_invalid", /^fromMcpConfig\(path\): expected the path/),
  );
});
