import { describe } from "vitest";
import { createIsolateSandbox } from "../../src/sandboxes/isolate/isolate-sandbox.ts";
import { createMemorySandbox } from "../../src/sandboxes/memory-sandbox.ts";
import { executeSuite } from "./execute.suite.ts";

describe("on the memory sandbox", () => executeSuite("javascript", createMemorySandbox()));
describe("on the isolate sandbox", () => executeSuite("javascript", createIsolateSandbox()));
