import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { secretsOf } from "../../../../src/cli/commands/serve/serve.ts";
import { newFolder } from "../../../support/new-folder.ts";

const URL_OF_JOURNAL = "postgres://ann:word@db.example/portcullis";
const folder = newFolder();
afterEach(() => {
  vi.unstubAllEnvs();
});

test("the secret of a journal in a file is beside it, and is changed there", () => {
  vi.stubEnv("PORTCULLIS_GATEWAY_SECRETS", "");
  const journal = join(folder, "journal.db");
  const [first] = secretsOf(journal).secrets ?? [];
  expect(existsSync(`${journal}.secrets`)).toBe(true);
  writeFileSync(`${journal}.secrets`, `${"n".repeat(44)}\n${first}\n`);
  expect(secretsOf(journal).secrets).toEqual(["n".repeat(44), first]);
});

test("a journal in PostgreSQL has no file beside it: its secrets are in the environment, or each server has its own", () => {
  vi.stubEnv("PORTCULLIS_GATEWAY_SECRETS", "");
  expect(secretsOf(URL_OF_JOURNAL)).toEqual({});
  vi.stubEnv("PORTCULLIS_GATEWAY_SECRETS", `${"a".repeat(32)}  ${"b".repeat(32)}\n`);
  expect(secretsOf(URL_OF_JOURNAL).secrets).toEqual(["a".repeat(32), "b".repeat(32)]);
});
