import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, expect, test } from "vitest";
import { portcullis } from "../cli/command.ts";

const folder = mkdtempSync(join(tmpdir(), "portcullis-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("the command writes the file for its owner alone, and prints its address", async () => {
  const journal = ["--journal", join(folder, "one.db")];
  const tools = join(folder, "tools.ts");
  writeFileSync(tools, "export default [];");
  const ran = await portcullis(["run", "-", "--tools", tools, ...journal, "--execution", "e1"], "return 1;");
  expect(ran.code).toBe(0);
  const file = join(folder, "shown.html");
  const shown = await portcullis(["show", "e1", ...journal, "--html", file]);
  expect(shown).toMatchObject({ code: 0, stdout: `${pathToFileURL(file).href}\n` });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const fileless = await portcullis(["show", "e1", ...journal, "--html", "--json"]);
  expect([fileless.code, fileless.stderr]).toEqual([
    2,
    "portcullis: --html has no file: --json is an option. A file of that name is ./--json.\n",
  ]);
  const both = await portcullis(["show", "e1", ...journal, "--html", file, "--json"]);
  expect(both.code).toBe(2);
  const nowhere = await portcullis(["show", "e1", ...journal, "--html", join(folder, "no/where.html")]);
  expect(nowhere).toMatchObject({ code: 2 });
  expect(nowhere.stderr).toContain("cannot be written");
  const unknown = await portcullis(["show", "e2", ...journal, "--html", file]);
  expect(unknown.code).not.toBe(0);
});
