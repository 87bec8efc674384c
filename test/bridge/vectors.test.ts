import { createMemorySandbox } from "../../src/sandboxes/memory-sandbox.ts";
import { createForkedPythonSandbox, PYTHON } from "../support/python-process-sandbox.ts";
import { vectorSuite } from "./vectors.ts";

vectorSuite("the memory sandbox", createMemorySandbox, "javascript");
vectorSuite("Python in a process", createForkedPythonSandbox, "python", PYTHON.missing);
