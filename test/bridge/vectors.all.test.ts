import { createIsolateSandbox } from "../../src/sandboxes/isolate/isolate-sandbox.ts";
import { createPythonProcessSandbox, PYTHON } from "../support/python-process-sandbox.ts";
import { vectorSuite } from "./vectors.ts";

vectorSuite("the isolate sandbox", createIsolateSandbox, "javascript");
vectorSuite("Python in a process of its own", createPythonProcessSandbox, "python", PYTHON.missing);
