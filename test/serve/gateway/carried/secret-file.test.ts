import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { readSecrets, rotateSecret, secretFileOf } from "../../../../src/serve/gateway/carried/secret-file.ts";

const folder = mkdtempSync(join(tmpdir(), "portcullis-secrets-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("a file of secrets is made once, for its owner alone, and has the latest former secrets after each change", () => {
  const file = secretFileOf(join(folder, "journal.db"));
  const [first] = readSecrets(file);
  expect(readSecrets(file)).toEqual([first]);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  for (let count = 0; count < 6; count += 1) {
    const before = readSecrets(file);
    rotateSecret(file);
    const after = readSecrets(file);
    expect(after.slice(1)).toEqual(before.slice(0, 3));
    expect(after[0]).not.toBe(before[0]);
  }
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readdirSync(folder)).toEqual(["journal.db.secrets"]);
});

test.each(["", "short\n", `${"x".repeat(40)}\nshort\n`])(
  "a file that has no secrets is refused and kept: %j",
  (text) => {
    const file = join(folder, "broken");
    writeFileSync(file, text);
    expect(() => readSecrets(file)).toThrow("one a line");
    expect(() => rotateSecret(file)).toThrow("one a line");
    expect(readFileSync(file, "utf8")).toBe(text);
    rmSync(file);
  },
);
