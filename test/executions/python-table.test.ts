import { describe } from "vitest";
import { createDockerSandbox } from "../../src/sandboxes/docker/docker-sandbox.ts";
import { needDockerEngine } from "../docker-support/docker-engine.ts";
import { createForkedPythonSandbox, PYTHON } from "../support/python-process-sandbox.ts";
import { pythonTableSuite } from "./python-table.suite.ts";
import { describeOfAll } from "../support/all-tests.ts";

describe.skipIf(PYTHON.missing)("what Python programs may use, in a process", () =>
  pythonTableSuite(createForkedPythonSandbox()),
);

describeOfAll.skipIf(needDockerEngine() !== undefined)("what Python programs may use, in a container", () =>
  pythonTableSuite(createDockerSandbox({ warm: 1 })),
);
