/*
 * Holds
 * src/cli/commands/serve/key.ts
 */
import { chmodSync, lstatSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { watchDoorKeys } from "../../../../src/cli/commands/serve/http-server.ts";
import { addKey } from "../../../../src/cli/commands/serve/key.ts";
import { parseKeys } from "../../../../src/serve/http/keys.ts";
import { manualClock } from "../../../support/clock.ts";
import { newFolder } from "../../../support/new-folder.ts";

const folder = newFolder();
const ids = (path: string) => parseKeys(path, readFileSync(path, "utf8")).all.map(({ id }) => id);

test("a new key file is readable by its owner alone, and a changed one keeps its mode", () => {
  const path = join(folder, "mode.json");
  addKey(path, { id: "a", tenant: "t" });
  expect(statSync(path).mode & 0o777).toBe(0o600);
  chmodSync(path, 0o640);
  addKey(path, { id: "b", tenant: "t" });
  expect(statSync(path).mode & 0o777).toBe(0o640);
  expect(readFileSync(path, "utf8")).not.toMatch(/"key"/);
});

test("a change through a link reaches the file that a server reads by its own name", () => {
  const path = join(folder, "real.json");
  const link = join(folder, "link.json");
  addKey(path, { id: "a", tenant: "t" });
  symlinkSync(path, link);
  addKey(link, { id: "b", tenant: "t" });
  expect(ids(path)).toEqual(["a", "b"]);
  expect(lstatSync(link).isSymbolicLink()).toBe(true);
});

test("of two changes at once the second is refused, so that none is lost", () => {
  const path = join(folder, "locked.json");
  const add = () => addKey(path, { id: "a", tenant: "t" });
  writeFileSync(`${path}.new`, "");
  expect(add).toThrow(/Nothing was changed/);
  rmSync(`${path}.new`);
  add();
  expect(ids(path)).toEqual(["a"]);
  expect(readdirSync(folder).filter((name) => /lock$|^\./.test(name))).toEqual([]);
});

test("a change that is refused leaves the file and no lock", () => {
  const path = join(folder, "refused.json");
  addKey(path, { id: "a", tenant: "t" });
  const before = readFileSync(path, "utf8");
  expect(() => addKey(path, { id: "a", tenant: "t" })).toThrow(/has a key "a" already/);
  expect(readFileSync(path, "utf8")).toBe(before);
  expect(readdirSync(folder).filter((name) => name.endsWith(".new"))).toEqual([]);
});

test("a server that follows the file learns of what changed before it looked, and of a file that comes back", () => {
  const clock = manualClock();
  const path = join(folder, "followed.json");
  addKey(path, { id: "a", tenant: "t" });
  const known = readFileSync(path, "utf8");
  addKey(path, { id: "b", tenant: "t" });
  const seen: string[] = [];
  const unread: string[] = [];
  using _ = watchDoorKeys(
    path,
    known,
    (text) => seen.push(text),
    (why) => unread.push(why),
  );
  const look = () => clock.pass(4000);
  look();
  expect(seen).toEqual([readFileSync(path, "utf8")]);
  rmSync(path);
  look();
  look();
  expect(unread).toHaveLength(1);
  writeFileSync(path, known);
  look();
  expect(seen.at(-1)).toBe(known);
});

test("two of ten thousand keys with one id are refused", () => {
  const keys = Array.from({ length: 10_000 }, (_, n) => ({
    id: `key-${n}`,
    hash: n.toString(16).padStart(64, "0"),
    tenant: "t",
  }));
  expect(parseKeys("keys", JSON.stringify({ keys })).all).toHaveLength(10_000);
  expect(() => parseKeys("keys", JSON.stringify({ keys: [...keys, keys[9000]] }))).toThrow(
    /two keys have the id "key-9000"/,
  );
});

test.each([
  [
    "where node says where",
    '{ "keys": [\n  { "id": "a", "key": "secret-0123456789", }\n] }',
    / at line 2 column \d+: /,
  ],
  ["where it does not", '{ "keys": [ { "id": "a", "key": secret-0123456789 } ] }', /is not JSON: /],
])("a file that is not JSON is told without any of its text, with the place %s", (_name, text, place) => {
  const read = () => parseKeys("keys.json", text);
  expect(read).toThrow(place);
  expect(read).not.toThrow(/secret/);
});
