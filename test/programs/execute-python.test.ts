import { describe } from "vitest";
import { createPythonProcessSandbox, PYTHON } from "../support/python-process-sandbox.ts";
import { executePythonSuite } from "./execute-python.suite.ts";

describe.skipIf(PYTHON.missing)("Python in a process", () => executePythonSuite(createPythonProcessSandbox()));
