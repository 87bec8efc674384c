import { describe } from "vitest";
import { createIsolateSandbox } from "../../src/sandboxes/isolate/isolate-sandbox.ts";
import { createMemorySandbox } from "../../src/sandboxes/memory-sandbox.ts";
import { streamsSuite } from "./streams.suite.ts";

describe("on the memory sandbox", () => streamsSuite("javascript", createMemorySandbox()));
describe("on the isolate sandbox", () => streamsSuite("javascript", createIsolateSandbox()));
