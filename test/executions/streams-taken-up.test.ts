import { describe } from "vitest";
import { createSqliteJournal } from "../../src/index.ts";
import { createMemoryJournal } from "../../src/journal/index.ts";
import { createIsolateSandbox } from "../../src/sandboxes/index.ts";
import { createMemorySandbox } from "../../src/runtime/testing.ts";
import { ALL_TESTS, describeOfAll, newFile } from "../support/index.ts";
import { streamsTakenUpSuite } from "./streams-taken-up.suite.ts";

describeOfAll("with a journal in memory", () =>
  streamsTakenUpSuite({ makeJournal: createMemoryJournal, sandbox: createMemorySandbox(), step: 1 }),
);

const makeJournal = () => createSqliteJournal({ path: newFile() });

describe("with a journal in a file", () =>
  streamsTakenUpSuite({ makeJournal, sandbox: createMemorySandbox(), step: ALL_TESTS ? 1 : 20 }));

describeOfAll("with a journal in a file, in isolates", () =>
  streamsTakenUpSuite({ makeJournal, sandbox: createIsolateSandbox(), step: 1 }),
);
