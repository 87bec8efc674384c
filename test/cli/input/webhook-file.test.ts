import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readWebhookFile } from "../../../src/cli/input/option-values.ts";
import { newFolder } from "../../support/new-folder.ts";

const folder = newFolder();

const read = (text: string) => {
  const path = join(folder, "hooks.json");
  writeFileSync(path, text);
  return readWebhookFile("--webhooks", path);
};

test("the list of a file is what createServer takes", () => {
  const hooks = [{ url: "https://example.com/", secret: "secret-0123456789abcdef01" }];
  expect(read(JSON.stringify(hooks))).toEqual(hooks);
});

test("a byte order mark before the list is no part of it", () => {
  expect(read("\ufeff[]")).toEqual([]);
});

test.each(["{", "", '{"url":1}', '"hunter2"', '[{"secret":"hunter2"'])(
  "a file with %j is refused without what is in it",
  (text) => {
    expect(() => read(text)).toThrow(/--webhooks: .*hooks\.json(?: is no JSON| is empty|: it has no list)/);
    expect(() => read(text)).not.toThrow(/hunter2/);
  },
);
