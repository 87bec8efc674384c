import { afterAll, describe } from "vitest";
import { createIsolateSandbox } from "../../src/sandboxes/isolate/isolate-sandbox.ts";
import { createPythonProcessSandbox, PYTHON } from "../support/python-process-sandbox.ts";
import { vectorSuite } from "./vectors.ts";

describe("golden transcripts on the isolate sandbox", () => {
  const sandbox = createIsolateSandbox();
  afterAll(() => sandbox[Symbol.asyncDispose]());
  vectorSuite(() => sandbox, "javascript");
});

describe.skipIf(PYTHON.missing)("golden transcripts on Python in a process of its own", () => {
  const sandbox = createPythonProcessSandbox();
  afterAll(() => sandbox[Symbol.asyncDispose]());
  vectorSuite(() => sandbox, "python");
});
