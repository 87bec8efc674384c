import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe } from "vitest";
import { createSqliteJournal } from "../../src/index.ts";
import { createMemoryJournal } from "../../src/journal/index.ts";
import { createIsolateSandbox } from "../../src/sandboxes/index.ts";
import { createMemorySandbox } from "../../src/runtime/testing.ts";
import { ALL_TESTS, describeOfAll, memoryFolder } from "../support/index.ts";
import { streamsTakenUpSuite } from "./streams-taken-up.suite.ts";

const folder = memoryFolder("portcullis-streams-");
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;

describeOfAll("with a journal in memory", () =>
  streamsTakenUpSuite({ makeJournal: createMemoryJournal, sandbox: createMemorySandbox(), step: 1 }),
);

const makeJournal = () => createSqliteJournal({ path: join(folder, `${(files += 1)}.db`) });

describe("with a journal in a file", () =>
  streamsTakenUpSuite({ makeJournal, sandbox: createMemorySandbox(), step: ALL_TESTS ? 1 : 20 }));

describeOfAll("with a journal in a file, in isolates", () =>
  streamsTakenUpSuite({ makeJournal, sandbox: createIsolateSandbox(), step: 1 }),
);
