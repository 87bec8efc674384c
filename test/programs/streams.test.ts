import { describe } from "vitest";
import { createIsolateSandbox } from "../../src/sandboxes/isolate/isolate-sandbox.ts";
import { createMemorySandbox } from "../../src/sandboxes/memory-sandbox.ts";
import { createDockerSandbox } from "../../src/sandboxes/docker/docker-sandbox.ts";
import { needDockerEngine } from "../docker-support/docker-engine.ts";
import { createForkedPythonSandbox, PYTHON } from "../support/python-process-sandbox.ts";
import { streamsSuite } from "./streams.suite.ts";

describe("on the memory sandbox", () => streamsSuite("javascript", createMemorySandbox()));
describe("on the isolate sandbox", () => streamsSuite("javascript", createIsolateSandbox()));

describe.skipIf(PYTHON.missing)("on Python in a process", () => streamsSuite("python", createForkedPythonSandbox()));

describe.skipIf(needDockerEngine() !== undefined).each(["javascript", "python"] as const)(
  "of %s in a container",
  (language) => streamsSuite(language, createDockerSandbox({ warm: 1 })),
);
