import { describe } from "vitest";
import { createIsolateSandbox } from "../../src/sandboxes/isolate/isolate-sandbox.ts";
import { createMemorySandbox } from "../../src/sandboxes/memory-sandbox.ts";
import { describeOfAll } from "../support/all-tests.ts";
import { executeSuite } from "./execute.suite.ts";

describeOfAll("on the memory sandbox", () => executeSuite("javascript", createMemorySandbox()));
describe("on the isolate sandbox", () => executeSuite("javascript", createIsolateSandbox()));
