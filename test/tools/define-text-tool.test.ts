import * as fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { createRuntime, defineTextTool, PortcullisError, type Tool } from "../../src/index.ts";
import { createMemoryJournal } from "../../src/journal/index.ts";
import { createMemorySandbox } from "../../src/runtime/testing.ts";
import { toolDigest } from "../../src/tools/tool-digest.ts";
import { textIn } from "../../src/tools/text-format.ts";
import { inputSchemaOf } from "../../src/tools/tool-schemas.ts";
import { validate } from "../../src/tools/schema.ts";
import { createForkedPythonSandbox, PYTHON } from "../support/python-process-sandbox.ts";

const options = {
  name: "db.query",
  description: "Rows of the database.",
  allowedCallers: ["direct", "programmatic"],
  effect: "read",
  execute: (text: string) => text.length,
} as const;

/** The message of the `tool_invalid` that these options are refused with. */
function refusal(changes: object): string {
  try {
    defineTextTool({ ...options, ...changes });
  } catch (error) {
    expect(PortcullisError.is(error) && error.code).toBe("tool_invalid");
    return (error as Error).message;
  }
  return "none";
}

test.each<[string, object, string]>([
  ["a format that is none", { format: 5 }, 'expected "text" or { regex: "…" }, got 5'],
  ["a regex beside more", { format: { regex: "a", flags: "i" } }, 'expected "text" or { regex: "…" }'],
  ["a Lark grammar", { format: { syntax: "lark", definition: "start: /a/" } }, 'expected "text" or { regex: "…" }'],
  ["a RegExp", { format: { regex: /abc/ } }, 'expected "text" or { regex: "…" }'],
  ["no regular expression", { format: { regex: "(" } }, "the regex is not an ECMAScript regular expression"],
  ["brackets that only together are one", { format: { regex: "a)(b" } }, "the regex is not an ECMAScript"],
  ["a reference to a group", { format: { regex: "(a)\\1" } }, "the regex refers back to one of its groups"],
  ["too many repetitions", { format: { regex: "(a{1000}){1000}" } }, "the regex has more than 2000 states"],
  [
    "a very long regex",
    { format: { regex: "a".repeat(10_001) } },
    "the regex has 10001 characters, and a pattern may have 4096",
  ],
  ["a schema", { inputSchema: {} }, "a text tool takes one text and no fields"],
  ["unknown fields", { unknownFields: "allow" }, "a text tool takes one text and no fields"],
  ["another option", { formt: "text" }, "formt"],
  ["a name that no tool can have", { name: "a b" }, "this name cannot be used"],
])("a definition with %s is refused, and says why", (_, changes, why) => {
  expect(refusal(changes)).toContain(why);
});

test("what is wrong with other options is said as of defineTool, under the name of this function", () => {
  expect(refusal({ effect: "reads" })).toMatch(/^defineTextTool\(\{ name: "db\.query", effect \}\): expected /);
  expect(() => defineTextTool(undefined as never)).toThrow(PortcullisError);
});

const withRegex = (regex: string) => defineTextTool({ ...options, format: { regex } });
const faultOf = (tool: Tool, value: unknown) => {
  const validated = validate(tool.inputSchema, value);
  if (validated instanceof Promise) throw new Error("It is checked at once.");
  return validated.ok ? undefined : validated.issues[0]?.message;
};

test("a regular expression decides as V8's own would, whatever the text", () => {
  const regexes = [
    "(a|b)*c?",
    "a{2,3}b",
    "[^a]+",
    "a|bc",
    "(?=a)\\w+",
    ".*",
    "(?:ab)+|c",
    "a?a?a?aaa",
    "(a+)+b",
    "\\d+(\\.\\d+)?",
  ];
  fc.assert(
    fc.property(
      fc.constantFrom(...regexes),
      fc.string({ unit: fc.constantFrom("a", "b", "c", "1", ".", "\n") }),
      (regex, text) => {
        expect(faultOf(withRegex(regex), text) === undefined).toBe(new RegExp(`^(?:${regex})$`, "u").test(text));
      },
    ),
  );
});

test("a text on which a backtracking matcher would never end is checked at once", () => {
  expect(faultOf(withRegex("(a+)+b"), "a".repeat(50_000))).toContain('expected text that matches "^(?:(a+)+b)$"');
});

test("functions have one field where calls have fields, and the digest changes with the regular expression", () => {
  expect(inputSchemaOf(withRegex("a|b"))).toEqual({
    type: "object",
    properties: { input: { type: "string", pattern: "^(?:a|b)$" } },
    required: ["input"],
    additionalProperties: false,
  });
  expect(toolDigest(withRegex("a"))).not.toBe(toolDigest(withRegex("b")));
  expect(toolDigest(withRegex("a"))).toBe(toolDigest(withRegex("a")));
});

test("a format that is changed after the definition changes nothing", () => {
  const format = { regex: "a" };
  const tool = defineTextTool({ ...options, format });
  format.regex = ".*";
  expect([faultOf(tool, "b"), tool.textFormat]).toEqual([expect.any(String), { regex: "a" }]);
});

describe.each([
  ["JavaScript", "javascript", false],
  ["Python", "python", PYTHON.missing],
] as const)("a program in %s", (_, language, isMissing) => {
  const sandbox = language === "python" ? createForkedPythonSandbox() : createMemorySandbox();
  afterAll(() => sandbox[Symbol.asyncDispose]());
  const run = async (code: string, tool: Tool = defineTextTool(options)) => {
    const journal = createMemoryJournal();
    await using runtime = await createRuntime({ tools: [tool], sandbox, journal });
    const report = await runtime.execute(language === "python" ? code : `return ${code};`, { language });
    return { text: report.output.text, runtime, calls: report.calls };
  };

  test.skipIf(isMissing)("calls a text tool with a string", async () => {
    expect((await run('await tools.db.query("SELECT 1")')).text).toBe("8");
  });

  test.skipIf(isMissing)("is told what a text has to match, and nothing runs", async () => {
    const { text, calls } = await run('await tools.db.query("a\\nx")', withRegex("a\\nb"));
    expect(text).toContain('The input of db.query does not fit: expected text that matches "^(?:a\\\\nb)$"');
    expect(text).toContain("/^(?:a\\nb)$/");
    expect(calls).toMatchObject([{ outcome: { code: "input_invalid" } }]);
  });

  test.skipIf(isMissing)("reads in the declaration what the text must match", async () => {
    const { runtime } = await run("1", withRegex("SELECT \\w+"));
    const declared = runtime.declarations({ language });
    expect(declared).toContain("/* /^(?:SELECT \\w+)$/ */");
  });

  test.skipIf(isMissing).each(["5", "[]", "{}"])("is told that %s is no text", async (value) => {
    const { text, calls } = await run(`await tools.db.query(${value})`);
    expect(text).toContain("expected one text");
    expect(calls).toMatchObject([{ outcome: { code: "input_invalid" } }]);
  });

  test.skipIf(isMissing)("reads its stub as that of a function of a text", async () => {
    const { runtime } = await run("1", defineTextTool({ ...options, format: { regex: "SELECT .*" } }));
    expect(runtime.declarations({ language })).toMatch(
      language === "python"
        ? /^await tools\.db\.query\(input: str.*\) -> Any/
        : /^tools\.db\.query\(input: string.*\): Promise<unknown>/,
    );
  });
});

test("the host calls it with a text, or with the object that calls with fields have, and searches find it", async () => {
  await using runtime = await createRuntime({ tools: [defineTextTool(options)], sandbox: createMemorySandbox() });
  for (const input of ["SELECT 1", { input: "SELECT 1" }])
    expect(await runtime.call({ tool: "db.query", input, caller: "direct" })).toMatchObject({ ok: true, value: 8 });
  const [found] = await runtime.searchTools("rows of the database");
  expect(found?.stub).toBe("tools.db.query(input: string): Promise<unknown>");
});

test("a text is itself, or the only own field of an object, and nothing else", () => {
  const inherited = Object.create({ input: "a" }) as object;
  const values = ["a", { input: "b" }, { input: 1 }, { input: "a", more: 1 }, ["a"], null, 1, inherited];
  expect(values.map(textIn)).toEqual(["a", "b", ...Array.from({ length: 6 }, () => undefined)]);
});
