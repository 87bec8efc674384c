import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createRuntime, openai } from "../../../src/index.ts";
import { checkOptions, type OptionRules, readOptions, required, secret, text } from "../../../src/base/index.ts";
import { createServer } from "../../../src/serve/create-server.ts";
import { parseKeys } from "../../../src/serve/http/keys.ts";
import { fromMcp } from "../../../src/sources/mcp/from-mcp.ts";
import { fromOpenApi } from "../../../src/sources/openapi/from-openapi.ts";
import { OPTIONS_OBJECTS } from "../../documents/option-tables.ts";
import { root } from "../../support/snippets.ts";

const RULES = { token: secret(required(text({ minLength: 40, expected: "a long text" }))), name: text() };
const messageOf = (work: () => unknown) => {
  try {
    work();
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error("nothing was refused");
};

describe("an error about a secret tells its length, or its type, and not its value", () => {
  test.each([
    ["s", "a string of 1 character"],
    ["hunter2", "a string of 7 characters"],
    [1234n, "a bigint"],
    [["hunter2"], "an array of 1"],
    [{ a: "hunter2" }, "an object"],
    [() => "hunter2", "a function"],
    [null, "null"],
  ])("%s", (token, told) => {
    expect(messageOf(() => readOptions("open", { token }, RULES))).toBe(
      `open({ token }): expected a long text, got ${told}.`,
    );
  });

  test("also one that stands in the place of its options", () => {
    expect(messageOf(() => readOptions("open", "hunter2", RULES))).toBe(
      "open(options): expected an object, got a string of 7 characters.",
    );
  });

  test("the values of other options are shown", () => {
    expect(messageOf(() => readOptions("open", { token: "t".repeat(40), name: 7 }, RULES))).toContain("got 7.");
  });
});

/** What options with secrets are called. */
const NAMED_SO = /^(?:keys?|hash|auth|headers|env|args|username|url|baseUrl|.*(?:token|password|secret|apiKey))$/i;
const CANARY = "canary";
const REFUSED = [CANARY, [CANARY], { [CANARY]: CANARY, n: 1 }, { a: [CANARY] }];

interface Rule {
  readonly rules: OptionRules;
  readonly name: string;
  readonly of: string;
}

/** Every rule of a public options object. */
async function allRules(): Promise<readonly Rule[]> {
  const objects = await Promise.all(
    Object.values(OPTIONS_OBJECTS)
      .flat()
      .map(async ({ title, file, rules }) => {
        const module = (await import(join(root, file))) as Readonly<Record<string, OptionRules>>;
        const found = module[rules] ?? {};
        return Object.keys(found).map((name) => ({ rules: found, name, of: title }));
      }),
  );
  return objects.flat();
}

test("every public option whose name says so is a secret, and none of their errors shows a value", async () => {
  const named = (await allRules()).filter(({ name }) => NAMED_SO.test(name));
  expect(named.map(({ name }) => name)).toEqual(
    expect.arrayContaining(["token", "keys", "key", "hash", "apiKey", "auth", "headers", "env", "args", "password"]),
  );
  for (const { rules, name, of } of named) {
    expect([of, name, rules[name]?.isSecret]).toEqual([of, name, true]);
    for (const value of REFUSED)
      if (rules[name]?.accepts(value) === false)
        expect(messageOf(() => checkOptions(of, { [name]: value }, { [name]: rules[name] as never }))).not.toContain(
          CANARY,
        );
  }
});

describe("what people mistake when they give a secret", () => {
  const openapi = (options: object) => fromOpenApi({ name: "a", spec: "{}", baseUrl: "http://a", ...options });
  const server = async (options: unknown) => {
    await using runtime = await createRuntime({ tools: [] });
    return await createServer(runtime, options as object);
  };
  const key = { id: "a", tenant: "t" };
  test.each<readonly [string, () => unknown]>([
    ["a short token", () => server({ token: CANARY })],
    ["a token in place of the options", () => server(CANARY)],
    ["a key in place of the options", () => openai(CANARY as never)],
    ["a list of keys", () => openai({ model: "m", apiKey: [CANARY] as never })],
    ["an address with a password", () => openai({ model: "m", baseUrl: `ftp://u:${CANARY}@host` })],
    ["a short key", () => parseKeys("keys", JSON.stringify({ keys: [{ ...key, key: CANARY }] }))],
    ["a hash that is none", () => parseKeys("keys", JSON.stringify({ keys: [{ ...key, hash: CANARY }] }))],
    [
      "variables that are not all text",
      () => fromMcp({ name: "a", command: "x", env: { K: CANARY, N: 1 } } as never, {} as never),
    ],
    ["headers as a list", () => fromMcp({ name: "a", url: "http://a", headers: [CANARY] } as never, {} as never)],
    [
      "arguments as one text",
      () => fromMcp({ name: "a", command: "x", args: `--key ${CANARY}` } as never, {} as never),
    ],
    ["headers as text", () => openapi({ headers: CANARY })],
    ["a token with a line break", () => openapi({ auth: { bearer: `${CANARY}\n` } })],
    ["user and password as one text", () => openapi({ auth: { basic: `u:${CANARY}` } })],
    ["a key with a line break", () => openapi({ auth: { apiKey: { in: "query", name: "k", value: `${CANARY}\n` } } })],
  ])("%s", async (_, give) => {
    const error: unknown = await Promise.resolve()
      .then(give)
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "option_invalid" });
    expect((error as Error).message).not.toContain(CANARY);
  });
});
