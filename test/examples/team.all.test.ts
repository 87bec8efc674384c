import { expect, test } from "vitest";
import { portcullis } from "../cli/command.ts";

test("demo team: a process is killed while twenty agents work, and the next one ends with each answer and token once", async () => {
  const { code, stdout } = await portcullis(["demo", "team"]);
  expect(stdout).toContain('{"answer":"63 things came back broken.","ending":"answered","tokens":5040}');
  expect(stdout).toContain("as it should be");
  expect(code).toBe(0);
});
