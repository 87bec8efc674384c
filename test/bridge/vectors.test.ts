import { afterAll, describe } from "vitest";
import { createMemorySandbox } from "../../src/sandboxes/memory-sandbox.ts";
import { createForkedPythonSandbox, PYTHON } from "../support/python-process-sandbox.ts";
import { vectorSuite } from "./vectors.ts";

describe("golden transcripts on the memory sandbox", () => {
  const sandbox = createMemorySandbox();
  afterAll(() => sandbox[Symbol.asyncDispose]());
  vectorSuite(() => sandbox, "javascript");
});

describe.skipIf(PYTHON.missing)("golden transcripts on Python in a process", () => {
  const sandbox = createForkedPythonSandbox();
  afterAll(() => sandbox[Symbol.asyncDispose]());
  vectorSuite(() => sandbox, "python");
});
