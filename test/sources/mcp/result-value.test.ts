import { expect, test } from "vitest";
import { resultValue } from "../../../src/sources/mcp/result-value.ts";
import { ServerText } from "../../../src/sources/mcp/clean-credentials.ts";
import { Content } from "../../../src/tools/content.ts";

const said = { type: "text", text: "a chart" };
const text = (...texts: readonly string[]) => texts.map((one) => ({ type: "text", text: one }));
const image = { type: "image", data: "cGl4ZWxz", mimeType: "image/png" };
const file = { path: "/a.txt", lines: 2 };
const rows = [{ id: 1 }, { id: 2 }];
const noSecrets = new ServerText([]);

test("a failure repeats no credential that the server was given, and more than is read is said", async () => {
  const failed = (result: object, secrets: readonly string[] = []) =>
    resultValue({ isError: true, ...result }, { caller: "direct" }, new ServerText(secrets));
  const value = await failed({ structuredContent: { headers: ["Bearer s3cret-token"] } }, ["Bearer s3cret-token"]);
  expect(JSON.stringify(Content.is(value) && value.value)).not.toContain("s3cret");
  await expect(failed({ content: [said], structuredContent: { x: "y".repeat(300_000) } })).rejects.toThrow(
    /^a chart\nIts server gave more with this failure than is read of one\.$/,
  );
});

test.each<[string, readonly object[], object, string | undefined]>([
  ["its JSON", text('{ "lines": 2, "path": "/a.txt" }'), file, undefined],
  ["its JSON beside an image", [...text(JSON.stringify(file)), image], file, undefined],
  ["its field", text("9"), { result: 9 }, undefined],
  ["more", text("No such file."), file, "No such file."],
  ["its JSON and more", text(JSON.stringify(file), "No."), file, `${JSON.stringify(file)}\nNo.`],
])("the sentence of a failure with structured content is its text, unless that says %s", async (...row) => {
  const [, content, structuredContent, message] = row;
  const made = await resultValue({ isError: true, content, structuredContent }, {}, noSecrets);
  expect(made).toMatchObject({ value: structuredContent, message });
});

test.each([true, "true", 1])("a failure that is marked by %j is one", async (isError) => {
  await expect(resultValue({ content: text("No."), isError }, {}, noSecrets)).rejects.toThrow("No.");
});

test.each<[string, object, unknown]>([
  ["a text of JSON is its value", { content: text(' {"a":[1]}') }, { a: [1] }],
  ["with all digits of an id", { content: text('{"id":1234567890123456789}') }, { id: "1234567890123456789" }],
  ["with a byte order mark too", { content: text('\ufeff{"a":1}') }, { a: 1 }],
  ["a text that is null is none", { content: [{ type: "text", text: null }] }, ""],
  ["a list too", { content: text("[1]") }, [1]],
  ["a text that only begins like JSON is the text", { content: text("[draft] a") }, "[draft] a"],
  ["a scalar is the text that it is in", { content: text("42") }, "42"],
  ["several texts are blocks", { content: text("{}", "{}") }, { content: text("{}", "{}") }],
  [
    "the structure alone, if the text is its JSON",
    { content: text('{ "path": "/a.txt", "lines": 2 }'), structuredContent: file },
    file,
  ],
  [
    "in another order, with other digits of the same number",
    { content: text('{ "n": [1.0, 1e2], "path": "/a.txt" }'), structuredContent: { path: "/a.txt", n: [1, 100] } },
    { path: "/a.txt", n: [1, 100] },
  ],
  ["that of its field", { content: text("9"), structuredContent: { result: 9 } }, { result: 9 }],
  ["its text", { content: text("a"), structuredContent: { result: "a" } }, { result: "a" }],
  [
    "those of the elements of a list",
    { content: rows.flatMap((row) => text(JSON.stringify(row))), structuredContent: { result: rows } },
    { result: rows },
  ],
  ["nothing", { content: text(" "), structuredContent: file }, file],
  ["or there is none", { structuredContent: file }, file],
  [
    "both, if the text says more",
    { content: text("one\ntwo"), structuredContent: file },
    { structuredContent: file, content: text("one\ntwo") },
  ],
  [
    "or an image does",
    { content: [...text(JSON.stringify(file)), image], structuredContent: file },
    { structuredContent: file, content: [...text(JSON.stringify(file)), image] },
  ],
  ["nothing at all is no blocks", { _meta: { a: 1 } }, { content: [] }],
  ["fields of its own, without content", { success: true, rows, _meta: { a: 1 } }, { success: true, rows }],
  ["or what the first draft calls the result is", { toolResult: rows }, rows],
  [
    "null in a block is nothing",
    {
      content: [
        { ...image, text: null, resource: null },
        { type: "resource", resource: { uri: "a:b", text: "a", blob: null } },
      ],
    },
    { content: [image, { type: "resource", resource: { uri: "a:b", text: "a" } }] },
  ],
  ["a content that is a text is that text", { content: "hello" }, "hello"],
  ["one block is a list of it", { content: said }, "a chart"],
  ["a text that is a number or an object is its JSON", { content: [{ type: "text", text: { a: 1 } }] }, { a: 1 }],
  ["a block without a type is its JSON", { content: [{ id: 1, name: "Inbox" }] }, { id: 1, name: "Inbox" }],
  [
    "what is no block costs no block beside it",
    { content: [said, null, 42, { type: "text" }], isError: false },
    { content: text("a chart", "42", "") },
  ],
])("%s: %j", async (_, result, value) => {
  expect(await resultValue({ ...result }, {}, noSecrets)).toEqual(value);
});

test("a tool that declares what it gives gives that", async () => {
  const result = { content: text("Read two lines."), structuredContent: file };
  expect(await resultValue(result, { declared: true }, noSecrets)).toEqual(file);
});

test("a model that calls directly gets an image beside the structure, and not in a text", async () => {
  const value = await resultValue({ content: [image], structuredContent: file }, { caller: "direct" }, noSecrets);
  expect(Content.is(value) && [value.value, value.parts.length]).toEqual([file, 1]);
});

test.each([false, true])(
  "only as many images are made parts as a result has, and more are shown by their size alone: %j",
  async (isError) => {
    const malformed = { ...image, data: "%%%%" };
    const content = [malformed, ...Array.from({ length: 19 }, () => image), malformed, image];
    const made = await resultValue({ content, isError }, { caller: "direct" }, noSecrets);
    const shown = { type: "image", mimeType: "image/png", bytes: 6 };
    expect(made).toMatchObject({
      isError,
      value: { content: [malformed, ...Array.from({ length: 19 }, () => shown), { ...shown, bytes: 3 }, shown] },
      parts: Array.from({ length: 19 }, () => ({ type: "image", mediaType: "image/png", data: image.data })),
    });
  },
);
