import { expect, test } from "vitest";
import { beginsWithFence, stripFence } from "../../../../src/programs/prepare/thread/strip-fence.ts";

test.each([
  ["```\na\n```", "\na\n"],
  ["```js\na\nb\n```\n", "\na\nb\n\n"],
  ["```typescript\na", "\na"],
  ["  ```c++\n  a\n  ```", "\n  a\n"],
  ["~~~\na\n```\n~~~", "\na\n```\n"],
  ["````\n```\na\n```\n````", "\n```\na\n```\n"],
  ["```\na\n`````", "\na\n"],
  ["```\na\n```js\nb\n```", "\na\n```js\nb\n"],
  ["Sure! Here it is:\n\n```js\nreturn 1\n```\nIt returns 1.", "\n\n\nreturn 1\n\n"],
  ["```js\r\na\r\n```\r\nDone.\r\n", "\na\r\n\n\n"],
  ["```\n~~~\na\n~~~\n```", "\n~~~\na\n~~~\n"],
  ['```js title="x"\na\n```', "\na\n"],
  ["```javascript {1,3}\na\n```", "\na\n"],
  ["``` js\na\n```", "\na\n"],
  ["```js:main.js\na\n```", "\na\n"],
  ["```js // program\na\n```", "\na\n"],
  ["```{.js}\na\n```", "\na\n"],
  ["```json\n{}\n```\nand\n```js\na\n```", "\n\n\n\n\na\n"],
  ["```bash\nls\n```\n```\na\n```", "\n\n\n\na\n"],
  ["```js\n```\n```js\na\n```", "\n\n\na\n"],
  ["```unknown\na\n```", "\na\n"],
])("of the text %j only the block with the program is kept, on its lines: %j", (source, code) => {
  expect(stripFence(source, "javascript")).toEqual({ type: "code", code });
  expect(code.split("\n")).toHaveLength(source.split("\n").length);
});

test.each([
  ["return 1\n```", "return 1\n"],
  ["return 1\n```\n\n", "return 1\n\n\n"],
  ["a\n```\n```\nb", "a\n\n\nb"],
  ["```js\n```", "\n"],
  ["```js", ""],
])("of the text %j, whose block is empty, only the fences are removed: %j", (source, code) => {
  expect(stripFence(source, "javascript")).toEqual({ type: "code", code });
});

test.each([
  ["```\na\n```\nand\n```\nb\n```", 2],
  ["```js\na\n```\n```json\n{}\n```\n```ts\nb\n```\n```\nc\n```", 3],
])("the text %j is refused, because several blocks may be the program", (source, count) => {
  expect(stripFence(source, "javascript")).toEqual({ type: "several", count });
});

test("which block is the program depends on its language", () => {
  const source = "```js\nreturn 1\n```\n```python\nreturn 2\n```";
  expect(stripFence(source, "javascript")).toEqual({ type: "code", code: "\nreturn 1\n\n\n\n" });
  expect(stripFence(source, "python")).toEqual({ type: "code", code: "\n\n\n\nreturn 2\n" });
});

test.each(["return 1", "", "`a`\n``\nb", "```a`` b", "x ```\na", "return `\n\\`\\`\\`js\n`"])(
  "the text %j has no fence",
  (source) => {
    expect(stripFence(source, "javascript")).toEqual({ type: "none" });
  },
);

test.each([
  ["```js\na\n```", true],
  ["\n\n  ~~~\r\na", true],
  ["```", true],
  ["```a b c\na", true],
  ["```a` + b", false],
  ["Here:\n```js\na\n```", false],
  ["``\na", false],
  ["", false],
])("whether the first thing in %j is a fence: %j", (source, begins) => {
  expect(beginsWithFence(source)).toBe(begins);
});
