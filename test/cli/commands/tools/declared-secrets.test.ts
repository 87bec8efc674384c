import { expect, test } from "vitest";
import { z } from "zod";
import { redactSecrets } from "../../../../src/redaction/redact-secrets.ts";
import { declaredSecrets } from "../../../../src/cli/commands/tools/declared-secrets.ts";
import { defineTextTool, defineTool, jsonSchema, type Tool } from "../../../../src/index.ts";
import { testOfAll } from "../../../support/all-tests.ts";

function toolWith(changes: object): Tool {
  const options = {
    name: "crm.find",
    description: "Finds people.",
    input: z.object({ id: z.string() }),
    allowedCallers: ["direct"],
    effect: "read",
    handler: () => 1,
    ...changes,
  };
  return defineTool(options as Parameters<typeof defineTool>[0]);
}
const input = (properties: object) => ({ input: jsonSchema({ type: "object", properties }) });
const found = async (changes: object) =>
  (await declaredSecrets([toolWith(changes)], redactSecrets())).map(({ pointer, what }) => [pointer, what]);
const KEY = `ghp_${"a1B2c3D4e5".repeat(4).slice(0, 36)}`;

test.each<[string, object, string, string]>([
  ["a description", { description: "Ask 10.1.2.3 first." }, "/description", "an internal address (10.1.2.3)"],
  ["an address of IPv6", { description: "At fd00::1, that is." }, "/description", "an internal address (fd00::1)"],
  [
    "a default",
    input({ host: { type: "string", default: "db.internal" } }),
    "/input/properties/host/default",
    "an internal address (db.internal)",
  ],
  [
    "a name of a field",
    input({ "10.0.0.1": { type: "string" } }),
    "/input/properties/10.0.0.1",
    "an internal address (10.0.0.1)",
  ],
  [
    "a name with a slash",
    input({ "a/b~c": { const: "10.0.0.1" } }),
    "/input/properties/a~1b~0c/const",
    "an internal address (10.0.0.1)",
  ],
  [
    "a password within an example of the whole input",
    { input: jsonSchema({ type: "object", examples: [{ password: "hunter2" }] }) },
    "/input/examples/0/password",
    "a secret (a value under a secret's name)",
  ],
  ["a host behind a word", { description: "redis:10.0.0.5:6379" }, "/description", "an internal address (10.0.0.5)"],
  [
    "the end of a long text",
    { description: `${"word ".repeat(10_000)}10.0.0.1` },
    "/description",
    "an internal address (10.0.0.1)",
  ],
  ["instructions", { instructions: "Use 172.16.0.1." }, "/instructions", "an internal address (172.16.0.1)"],
  [
    "the output",
    { output: z.object({ at: z.literal("10.0.0.1") }) },
    "/output/properties/at/const",
    "an internal address (10.0.0.1)",
  ],
])("finds what should not leave in %s", async (_, changes, pointer, what) => {
  expect(await found(changes)).toContainEqual([pointer, what]);
});

test("finds a key by its form, and does not show it", async () => {
  const told = await found({ description: `Send ${KEY} along.` });
  expect(told).toEqual([["/description", expect.stringMatching(/^a secret \(.+\)$/) as string]]);
  expect(JSON.stringify(told)).not.toContain(KEY);
});

test("a name that is a secret is found and not shown, nor where else it stands in a pointer", async () => {
  const told = await found(input({ [KEY]: { description: "At 10.0.0.1.", default: { [KEY]: 1 } } }));
  expect(told).toEqual([
    ["/input/properties/…", expect.stringMatching(/^a secret \(.+\)$/) as string],
    ["/input/properties/…/description", "an internal address (10.0.0.1)"],
    ["/input/properties/…/default/…", expect.stringMatching(/^a secret \(.+\)$/) as string],
  ]);
});

test.each([
  ["Finds people at 8.8.8.8 or https://api.example.com/local/internal."],
  ["The local.field of a row; version 1.2.3; a time like 10:20."],
  ["A password is never asked for; see localhost."],
  ["A field a.b-c or x-y:z, a range 1.2-3.4, a file local.ts, a word localhosts://x."],
])("finds nothing in %j", async (description) => {
  expect(await found({ description, ...input({ password: { type: "string", description: "of the user" } }) })).toEqual(
    [],
  );
});

test("without rules for secrets, names and addresses are found", async () => {
  const tools = [
    toolWith(input({ token: { type: "string", default: "x" } })),
    defineTextTool({
      name: "t",
      description: "10.0.0.1",
      allowedCallers: ["direct"],
      effect: "read",
      handler: () => 1,
    }),
  ];
  expect(await declaredSecrets(tools)).toEqual([
    { tool: "crm.find", pointer: "/input/properties/token/default", what: "a secret (a value under a secret's name)" },
    { tool: "t", pointer: "/description", what: "an internal address (10.0.0.1)" },
  ]);
});

testOfAll("of a declaration with too many texts it is said where the look ended", async () => {
  const many = (count: number) =>
    input(Object.fromEntries(Array.from({ length: count }, (_, at) => [`f${at}`, { type: "string" }])));
  const tools = [
    toolWith(many(19_000)),
    toolWith({ name: "b", ...many(25_000) }),
    toolWith({ name: "c", description: "10.0.0.1" }),
  ];
  expect(await declaredSecrets(tools)).toEqual([
    {
      tool: "b",
      pointer: expect.stringMatching(/^\/input\/properties\/f199\d\d$/) as string,
      what: "20000 texts before this one were looked at, and none from here on",
    },
    { tool: "c", pointer: "/description", what: "an internal address (10.0.0.1)" },
  ]);
});
