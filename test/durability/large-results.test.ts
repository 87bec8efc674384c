import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, createSqliteJournal } from "portcullis";
import { createMemorySandbox } from "portcullis/testing";
import { expect, onTestFinished, test } from "vitest";
import { makeTool } from "../support/tools.ts";

const MB = 1_000_000;
const RESULTS = 10;
const folder = mkdtempSync(join(tmpdir(), "portcullis-"));

/** A text of 1 MB that does not compress to less than half, always the same for one number. */
const textOf = (number: unknown) =>
  createHash("shake256", { outputLength: (MB / 4) * 3 })
    .update(String(number))
    .digest("base64");

/** Moves results of 1 MB through one program whose host may hold 4 MiB, and replays it. */
async function move(name: string, isEqual: boolean) {
  const path = join(folder, name);
  using journal = createSqliteJournal({ path });
  const page = makeTool({ name: "page", execute: (input) => textOf(isEqual ? 0 : JSON.stringify(input)) });
  await using runtime = await createRuntime({
    tools: [page],
    journal,
    sandbox: createMemorySandbox(),
    heldBytes: 4 * 1024 * 1024,
  });
  const { outcome, execution } = await runtime.execute(
    `let length = 0;
     for (let number = 0; number < ${RESULTS}; number += 1) length += (await tools.page({ number })).length;
     return length;`,
  );
  return { outcome, replayed: await runtime.execution(execution).replay(), fileBytes: statSync(path).size };
}

test("results of more than the host may hold go through one program, which replays, and equal ones are in the file once", async () => {
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const moved = { outcome: { type: "completed", value: RESULTS * MB }, replayed: { type: "identical" } };
  expect(await move("different.db", false)).toMatchObject(moved);
  const equal = await move("equal.db", true);
  expect(equal).toMatchObject(moved);
  expect(equal.fileBytes).toBeLessThan(3 * MB);
});
