import { describe } from "vitest";
import { createIsolateSandbox } from "../../src/sandboxes/isolate/isolate-sandbox.ts";
import { createMemorySandbox } from "../../src/sandboxes/memory-sandbox.ts";
import { createDockerSandbox } from "../../src/sandboxes/docker/docker-sandbox.ts";
import { needDockerEngine } from "../docker-support/docker-engine.ts";
import { createForkedPythonSandbox, PYTHON } from "../support/python-process-sandbox.ts";
import { streamsSuite } from "./streams.suite.ts";
import { describeOfAll } from "../support/all-tests.ts";

describeOfAll("on the memory sandbox", () => streamsSuite("javascript", createMemorySandbox()));
describe("on the isolate sandbox", () => streamsSuite("javascript", createIsolateSandbox()));

describe.skipIf(PYTHON.missing)("on Python in a process", () => streamsSuite("python", createForkedPythonSandbox()));

describe.skipIf(needDockerEngine() !== undefined)("on Python in a container", () =>
  streamsSuite("python", createDockerSandbox({ warm: 0 }), "containers"),
);
describeOfAll.skipIf(needDockerEngine() !== undefined)("on JavaScript in a container", () =>
  streamsSuite("javascript", createDockerSandbox({ warm: 1 })),
);
