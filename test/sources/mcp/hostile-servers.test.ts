import { expect, test } from "vitest";
import { fromMcp, type McpServer } from "../../../src/index.ts";
import { declareTools } from "../../../src/tools/declarations/declarations.ts";
import { someOf, testOfAll } from "../../support/all-tests.ts";
import { servedRaw } from "./served-raw.ts";
import { call, isRunning, rawServer, READ, run, WRITE } from "./servers.ts";
import { failing } from "../../support/failing.ts";

/** What a program gets of a call of this server. */
async function callOf(server: McpServer): Promise<unknown> {
  await using source = await fromMcp(server, READ);
  return await call(source.tools, 'raw.echo({ text: "hi" })');
}

/** Code and message with which a source of the server that behaves in this way is refused. */
async function refusalOf(mode: string, more: Partial<McpServer> = {}): Promise<readonly [string, string]> {
  const mark = `mark-${mode}-${process.pid}`;
  const server = rawServer(mode, mark);
  try {
    await using source = await fromMcp({ ...server, ...more }, READ);
    return ["connected", String(source.tools.length)];
  } catch (error) {
    // Nothing is left running.
    expect(isRunning(mark)).toBe(false);
    return [(error as { readonly code: string }).code, (error as Error).message];
  }
}

// ---- lists -----------------------------------------------------------------------------------------------------

test.each(
  someOf<readonly [string, number, string]>(
    [
      ["same-cursor", 1, "The list of tools is cut off where the server gave the same cursor again."],
      ["endless-cursors", 100, "The list of tools is cut off after 100 pages."],
      ["many-tools", 10_000, "The list of tools is cut off after 10000 tools."],
      ["many-pages", 10_000, "The list of tools is cut off after 10000 tools."],
      ["heavy-pages", 2, "The list of tools is cut off after 32 MB."],
      ["long-cursors", 2, "The list of tools is cut off after 32 MB."],
    ],
    2,
  ),
)("a list that has no end is cut off with a sentence: %s", async (mode, count, problem) => {
  await using source = await fromMcp(await servedRaw(mode), READ);
  expect(source.problems[0]).toBe(problem);
  expect(source.tools).toHaveLength(count);
});

testOfAll("a list that changes without end is read at growing distances, and never left unread", async () => {
  const at: number[] = [];
  const thrice = Promise.withResolvers<void>();
  const onSourceChange = () => {
    at.push(performance.now());
    if (at.length === 3) thrice.resolve();
  };
  await using source = await fromMcp({ ...rawServer("changes-without-end"), onSourceChange }, READ);
  await thrice.promise;
  expect(source.tools).toHaveLength(2);
  const [first = 0, second = 0, third = 0] = at;
  // Timers of node may fire a millisecond early.
  expect(second - first).toBeGreaterThan(1900);
  expect(third - second).toBeGreaterThan(3900);
});

test("names become paths, and names that clash or are too long are refused by name", async () => {
  await using source = await fromMcp(await servedRaw("names"), READ);
  const names =
    "__proto___ constructor_ get_weather _2fa a.b x_y____z tools_list 查询天气 发送邮件 café __ed8d8305 __0f54038f";
  expect(source.tools.map(({ name }) => name)).toEqual(names.split(" ").map((name) => `raw.${name}`));
  const said = [
    '"" is left out: its name is ""',
    "its name has 5000 characters",
    '"same-name" is left out: its name raw.same_name clashes with raw.same_name of "same_name"',
    '"same_name" is left out: its name raw.same_name clashes with raw.same_name of "same-name"',
    '"space" is left out: its name raw.space clashes with raw.space.inner of "space.inner"',
    '"space.inner" is left out: its name raw.space.inner clashes with raw.space of "space"',
  ];
  expect(source.problems).toEqual(said.map((problem) => expect.stringContaining(problem)));
  expect(await call(source.tools, 'raw.get_weather({ text: "mild" })')).toBe("mild");
  expect(await call(source.tools, 'raw.查询天气({ text: "mild" })')).toBe("mild");
});

test("a name in a policy resolves a clash, and the server is called by its own name", async () => {
  await using source = await fromMcp(await servedRaw("names"), (name) =>
    name === "same_name" ? { ...READ, name: "other" } : READ,
  );
  expect(source.tools.map(({ name }) => name)).toEqual(expect.arrayContaining(["raw.same_name", "raw.other"]));
  expect(await call(source.tools, 'raw.other({ text: "x" })')).toBe("x");
});

test("one malformed tool does not lose the list", async () => {
  await using source = await fromMcp(await servedRaw("malformed"), READ);
  expect(source.tools.map(({ name }) => name)).toEqual(["raw.echo", "raw.no_schema", "raw.bad_output"]);
  expect(source.problems).toHaveLength(6);
  expect(source.problems.join("\n")).toContain("it is null, not a tool");
});

test("null is nothing, wherever a server writes it, and its tools can be called", async () => {
  await using source = await fromMcp(await servedRaw("nulls"), READ);
  expect(source.problems).toEqual(
    ["page", "pages"].map((name) => expect.stringContaining(`"${name}" is left out: it is for the server's own pages`)),
  );
  expect(source.tools.map(({ name }) => name)).toEqual(["raw.null_schema", "raw.no_fields", "raw.list", "raw.field"]);
  for (const { name } of source.tools) expect(await call(source.tools, `${name}({})`)).toBe("given {}");
});

test("an odd part of an input costs that part, and is told", async () => {
  await using source = await fromMcp(await servedRaw("odd"), READ);
  expect(source.problems).toEqual([expect.stringMatching(/^raw\.odd is not checked as a whole: of its input, /)]);
  const fields =
    "n?: number /* integer */, none?: unknown, words?: unknown, away?: unknown /* Elsewhere. */, list?: unknown[], other?: unknown | string, map?: Record<string, unknown>";
  expect(declareTools(source.tools)).toContain(`tools.raw.odd(input: { text: string, ${fields} })`);
  expect(await call(source.tools, 'raw.odd({ text: "a", none: 1, more: true, other: "b" })')).toBe("a");
  expect(await call(source.tools, "raw.odd({})")).toMatchObject({ code: "input_invalid" });
});

test("a schema that is nested without end is left out, and the rest of the list stands", async () => {
  await using source = await fromMcp(await servedRaw("deep"), READ);
  expect(source.tools.map(({ name }) => name)).toEqual(["raw.echo"]);
  expect(source.problems).toEqual(['"deep" is left out: it has more than 65536 values.']);
});

testOfAll("of ten thousand names that are one, all are refused by name", async () => {
  await using source = await fromMcp(await servedRaw("same-names"), READ);
  expect([source.tools.length, source.problems.length]).toEqual([0, 10_000]);
});

test("a schema of a megabyte of texts and names is left out before anything is made of it", async () => {
  await using source = await fromMcp(await servedRaw("large-schemas"), READ);
  expect(source.tools.map(({ name }) => name)).toEqual(["raw.odd"]);
  const why = "has texts of more than 1048576 characters together";
  expect(source.problems).toEqual([`"big" is left out: its inputSchema ${why}.`, expect.stringContaining(why)]);
});

test("a description of a megabyte is left out, and is in no problem", async () => {
  await using source = await fromMcp(await servedRaw("large-description"), READ);
  expect(source.tools.map(({ name }) => name)).toEqual(["raw.echo"]);
  expect(source.problems).toEqual([
    '"big" is left out: its description has 1000000 characters, at most 16384 are taken.',
  ]);
});

test("a description with instructions stays within its comment", async () => {
  await using source = await fromMcp(await servedRaw("instructions"), READ);
  const [comment = "", ...rest] = declareTools(source.tools)
    .split("\n")
    .filter((line) => line.includes("IGNORE"));
  expect(rest).toEqual([]);
  expect(comment).toMatch(/^tools\.raw\.echo\([^/]* \/\/ Echo\. \* \/ return 1; \} IGNORE ALL/);
  expect(comment).not.toMatch(/\p{Cc}|\p{Cf}/u);
});

test("annotations grant nothing: without a policy a tool is of no caller, whatever its server says of it", async () => {
  await using source = await fromMcp(await servedRaw("instructions"));
  expect(source.tools).toEqual([]);
  expect(source.unassigned).toEqual([
    { name: "raw.echo", original: "echo", annotations: { readOnlyHint: true, destructiveHint: false } },
  ]);
  await using hinted = await fromMcp(await servedRaw("instructions"), (_name, { readOnlyHint }) =>
    readOnlyHint ? WRITE : undefined,
  );
  expect(hinted.tools).toMatchObject([{ name: "raw.echo", effect: "write" }]);
});

test("a tool whose schema leads elsewhere, or cannot be checked at bounded cost, stays without the check, and says so", async () => {
  await using source = await fromMcp(await servedRaw("schemas"), READ);
  const names = "network file catastrophic long endless disguised slow echo".split(" ").map((name) => `raw.${name}`);
  expect(source.tools.map(({ name }) => name)).toEqual(names);
  expect(source.problems).toEqual([
    expect.stringMatching(/^raw\.network is not checked as a whole: of its input, \$ref "http:.*does not resolve/),
    expect.stringMatching(/^raw\.file is not checked as a whole: of its output, \$ref "file:.*does not resolve/),
    expect.stringMatching(/^raw\.catastrophic is not checked as a whole: of its input, \/properties\/a\/pattern/),
    expect.stringMatching(/^raw\.long is not checked as a whole: of its output, .* has 15000 characters/),
    expect.stringMatching(/^raw\.endless is not checked as a whole: of its output, .*refers to itself/),
    expect.stringMatching(/^raw\.disguised is not checked as a whole: of its input, this is a schema of a library/),
  ]);
  const answer = await call(source.tools, `raw.slow({ a: "${"a".repeat(5000)}!" })`);
  expect(answer).toMatchObject({ code: "input_invalid" });
});

test("the patterns of a server's list have a bound together, and tools beyond it are not checked", async () => {
  await using source = await fromMcp(await servedRaw("states"), READ);
  expect(source.tools).toHaveLength(40);
  expect(source.problems.length).toBeGreaterThan(5);
  expect(source.problems.at(-1)).toMatch(/^raw\.t39 is not checked as a whole: .* more than 500000 together/);
  expect(await call(source.tools, `raw.t0({ text: 1 })`)).toMatchObject({ code: "input_invalid" });
});

// ---- results ---------------------------------------------------------------------------------------------------

test("structured results are validated, and one that breaks its schema is output_invalid", async () => {
  await using source = await fromMcp(await servedRaw("structured"), READ);
  expect(await call(source.tools, "raw.right({})")).toEqual({ n: 7 });
  expect(await call(source.tools, "raw.broken({})")).toMatchObject({ code: "output_invalid" });
  expect(await call(source.tools, "raw.missing({})")).toMatchObject({ code: "output_invalid" });
  const { outcome } = await run(source.tools, "return JSON.stringify(await tools.raw.proto({}))");
  expect(outcome).toMatchObject({ value: expect.stringContaining('"b":2') });
});

test("a time without its zone costs no result", async () => {
  await using source = await fromMcp(await servedRaw("structured"), READ);
  expect(await call(source.tools, "raw.dated({})")).toEqual({ at: "2026-09-02T14:00:57.764445" });
});

test("an id of 64 bits loses no digit, over HTTP too", async () => {
  await using source = await fromMcp(await servedRaw("structured"), READ);
  expect(await call(source.tools, "raw.ids({})")).toEqual({ ids: ["1234567890123456789"] });
});

test.each(["no-result", "odd-result", "odd-type"])(
  "an answer that is no result is the source's failure: %s",
  async (mode) => {
    expect(await callOf(await servedRaw(mode))).toMatchObject(failing("source_unavailable", /raw\.echo .*protocol/));
  },
);

test("an error of the protocol is the source's, bounded, with the data that says which part was wrong", async () => {
  const token = "sk-0123456789abcdef";
  const server = { ...(await servedRaw("rpc-error", { env: { API_TOKEN: token } })), headers: { "x-token": token } };
  const { code, message } = (await callOf(server)) as { readonly code: string; readonly message: string };
  expect(code).toBe("source_unavailable");
  expect(message).toContain('The server of raw.echo refused the request: "Bad yyy');
  expect(message).toContain('path\\":\\"[secret]');
  expect(message.length).toBeLessThan(4300);
});

test("a tool's own failure reaches the program, in 4 KB and without the credentials that the server was given", async () => {
  const token = "sk-0123456789abcdef";
  const answer = await callOf({
    ...(await servedRaw("failing", { env: { API_TOKEN: token } })),
    headers: { "x-token": token },
  });
  const { code, message } = answer as { readonly code: string; readonly message: string };
  expect(code).toBe("handler_failed");
  expect(message).toContain("No such file, with [secret] and zzz");
  expect(message).not.toContain(token);
  expect(Buffer.byteLength(message)).toBeLessThan(4200);
});

test("answers with the ids of other requests are dropped", async () => {
  expect(await callOf(await servedRaw("foreign-ids"))).toBe("own");
});

test("garbage on standard output is no message, and is kept for the operator", async () => {
  await using source = await fromMcp(rawServer("garbage"), READ);
  expect(await call(source.tools, "raw.echo({})")).toBe("after garbage");
  expect(source.log).toContain("{not json");
});

testOfAll("a flood on standard error stops nothing, and its end is kept without credentials", async () => {
  await using source = await fromMcp({ ...rawServer("flood"), env: { API_TOKEN: "token-0123456789" } }, READ);
  expect(await call(source.tools, "raw.echo({})")).toBe("after the flood");
  expect(source.log).toMatch(/the end, \[secret\]\n$/);
  expect(source.log.length).toBeLessThan(10_000);
});

test.each(someOf(["long-line", "long-line-late-id"], 1))(
  "a line of 50 MB fails its own call alone, unread: %s",
  async (mode) => {
    await using source = await fromMcp(rawServer(mode), READ);
    const { outcome } = await run(
      source.tools,
      `const [large, small] = await Promise.allSettled([tools.raw.echo({}), tools.raw.other({ text: "small" })]);
     return [large.reason.code, small.value, await tools.raw.other({ text: "later" })];`,
      { limits: { resultBytes: 1024 * 1024 } },
    );
    expect(outcome).toMatchObject({ value: ["result_too_large", "small", "later"] });
  },
);

test.each([
  ["over its streams", () => rawServer("rows")],
  ["over HTTP", () => servedRaw("rows")],
])("a result of many values is what a small one is, and fails alone beyond `resultValues`: %s", async (_, server) => {
  await using source = await fromMcp(await server(), READ);
  const program = `const read = async (text) => {
      const { result, ...others } = await tools.raw.echo({ text });
      return [result.length, result.at(-2), result.at(-1), others];
    };
    const refused = [await read("values").catch(({ message }) => message)];
    return [await read("2"), await read("60000"), ...refused, await read("3")]`;
  const { outcome } = await run(source.tools, program);
  const rowsOf = (length: number) => [length, { id: "12345678901234567", name: "é" }, { id: 1, name: "é" }, {}];
  const refused = expect.stringContaining("more than 4194304 (limit resultValues)");
  expect(outcome).toMatchObject({ value: [rowsOf(2), rowsOf(60_000), refused, rowsOf(3)] });
});

testOfAll("a result over ten megabytes passes where resultBytes allows it", async () => {
  await using source = await fromMcp(await servedRaw("large"), READ);
  const { outcome } = await run(source.tools, 'return (await tools.raw.echo({ text: "24000000" })).length');
  expect(outcome).toMatchObject({ value: 24_000_000 });
});

// ---- handshakes ------------------------------------------------------------------------------------------------

test.each(
  someOf<readonly [string, object, string]>(
    [
      ["dies-at-once", {}, "it cannot be reached, or broke off (exit code 7)."],
      ["half-dead", {}, "it cannot be reached, or broke off (exit code 4)."],
      ["no-list", {}, "it sent an answer that breaks the protocol (Its list of tools is no list)."],
      ["plain", { protocol: "2026-07-28" }, "it does not speak the protocol: "],
      ["silent-from-the-start", { connectTimeoutMs: 100 }, "did not list its tools within 100 ms"],
      ["only-garbage", { connectTimeoutMs: 5000 }, "did not list its tools within 5000 ms. It wrote: "],
    ],
    1,
  ),
)("a server that does not come to a list is refused with a sentence, and ended: %s", async (mode, more, message) => {
  const [code, sentence] = await refusalOf(mode, more);
  expect(code).toBe("source_unavailable");
  expect(sentence).toContain(`MCP server "raw": `);
  expect(sentence).toContain(message);
});

testOfAll.each(["dies-when-asked-anew", "silent-when-asked-anew"])(
  "a server that cannot be asked in the new version is spoken to in the old one: %s",
  async (mode) => {
    expect(await callOf(rawServer(mode))).toBe("hi");
  },
);
