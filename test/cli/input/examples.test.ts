import { expect, test } from "vitest";
import { installing } from "../../../src/cli/input/examples.ts";

test.each([
  ["a clone of the sources", "file:///home/ann/portcullis/src/cli/input/examples.ts", "make packages"],
  [
    "a project",
    "file:///home/ann/project/node_modules/portcullis/dist/src/examples-AbCd1234.js",
    "npm install movies@1.0.0 d3@2.0.0",
  ],
  [
    "the folder of npx",
    "file:///home/ann/.npm/_npx/0123456789abcdef/node_modules/portcullis/dist/src/examples-AbCd1234.js",
    "run npx again, with --package movies@1.0.0 --package d3@2.0.0 too",
  ],
])("data that is missing is installed where the command finds it: %s", (_, from, command) => {
  expect(installing(["movies@1.0.0", "d3@2.0.0"], from)).toBe(command);
});
