import { afterAll, describe } from "vitest";
import { createIsolateSandbox } from "../../src/sandboxes/isolate/isolate-sandbox.ts";
import { createMemorySandbox } from "../../src/sandboxes/memory-sandbox.ts";
import { createPythonProcessSandbox, PYTHON } from "../support/python-process-sandbox.ts";
import { vectorSuite } from "./vectors.ts";

describe.each([
  ["memory", createMemorySandbox()],
  ["isolate", createIsolateSandbox()],
])("golden transcripts on the %s sandbox", (_name, sandbox) => {
  afterAll(() => sandbox[Symbol.asyncDispose]());
  vectorSuite(() => sandbox, "javascript");
});

describe.skipIf(PYTHON.missing)("golden transcripts on Python in a process", () => {
  const sandbox = createPythonProcessSandbox();
  afterAll(() => sandbox[Symbol.asyncDispose]());
  vectorSuite(() => sandbox, "python");
});
