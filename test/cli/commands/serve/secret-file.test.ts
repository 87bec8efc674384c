import { execFile } from "node:child_process";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test, vi } from "vitest";
import { testOfAll } from "../../../support/all-tests.ts";
import { readSecrets, secretFileOf, serverSecrets } from "../../../../src/cli/commands/serve/serve.ts";
import { newFolder } from "../../../support/new-folder.ts";

const folder = newFolder();

test("a file of secrets is made once, for its owner alone, and a new secret in its first line is the current one", () => {
  vi.stubEnv("PORTCULLIS_GATEWAY_SECRETS", "");
  const file = secretFileOf(join(folder, "journal.db"));
  const [first] = serverSecrets(join(folder, "journal.db")).secrets ?? [];
  expect(readSecrets(file)).toEqual([first]);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  writeFileSync(file, `${"n".repeat(44)}\n${first}\n`);
  expect(readSecrets(file)).toEqual(["n".repeat(44), first]);
  expect(readdirSync(folder)).toEqual(["journal.db.secrets"]);
});

test.each(["", "short\n", `${"x".repeat(40)}\nshort\n`])(
  "a file that has no secrets is refused and kept: %j",
  (text) => {
    const file = join(folder, "broken");
    writeFileSync(file, text, { mode: 0o600 });
    expect(() => readSecrets(file)).toThrow("one a line");
    expect(readFileSync(file, "utf8")).toBe(text);
    rmSync(file);
  },
);

testOfAll(
  "servers that start at once on one journal have the same secret, and leave nothing else",
  async () => {
    const place = mkdtempSync(join(folder, "at-once-"));
    const module = new URL("../../../../src/cli/commands/serve/serve.ts", import.meta.url);
    const path = JSON.stringify(join(place, "journal.db.secrets"));
    const source = `import { readSecrets } from ${JSON.stringify(module.href)}; console.log(readSecrets(${path}).join());`;
    const start = () => promisify(execFile)(process.execPath, ["--input-type=module", "-e", source]);
    const all = await Promise.all(Array.from({ length: 6 }, start));
    expect(new Set(all.map(({ stdout }) => stdout.trim())).size).toBe(1);
    expect(readdirSync(place)).toEqual(["journal.db.secrets"]);
  },
  60_000,
);

test.skipIf(process.platform === "win32").each([0o640, 0o604, 0o620, 0o601])(
  "a file that others can reach is refused until its rights are taken away: %o",
  (mode) => {
    const file = join(folder, "shared");
    const [secret] = readSecrets(file);
    chmodSync(file, mode);
    expect(() => readSecrets(file)).toThrow(`chmod 600 ${file}`);
    chmodSync(file, 0o600);
    expect(readSecrets(file)).toEqual([secret]);
    rmSync(file);
  },
);

test("a journal in PostgreSQL has no file beside it: its secrets are in the environment, or each server has its own", () => {
  const url = "postgres://ann:word@db.example/portcullis";
  vi.stubEnv("PORTCULLIS_GATEWAY_SECRETS", "");
  expect(serverSecrets(url)).toEqual({});
  vi.stubEnv("PORTCULLIS_GATEWAY_SECRETS", `${"a".repeat(32)}  ${"b".repeat(32)}\n`);
  expect(serverSecrets(url).secrets).toEqual(["a".repeat(32), "b".repeat(32)]);
  vi.unstubAllEnvs();
});
