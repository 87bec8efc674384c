import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { EXIT } from "../../src/cli/failure.ts";
import { newFolder } from "../support/new-folder.ts";
import { writeArtifacts } from "../../src/cli/commands/run/open-runtime.ts";

test("a name that would leave the folder, of a journal from elsewhere, is written nowhere", async () => {
  const folder = newFolder(onTestFinished);
  const said = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  onTestFinished(() => said.mockRestore());
  const inner = join(folder, "inner");
  mkdirSync(inner);
  const named = (name: string) => ({ name, bytes: 3, shape: "string", read: async () => "x" });
  const names = ["../out.txt", "..", "a/../../out.txt", "/out.txt", "..\\out.txt", "nul\0", ".hidden", "fine.txt"];
  expect(await writeArtifacts(inner, names.map(named))).toBe(EXIT.environment);
  expect(readdirSync(folder)).toEqual(["inner"]);
  expect(readdirSync(inner)).toEqual(["fine.txt"]);
});
