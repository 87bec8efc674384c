import { execFile } from "node:child_process";
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { Redactor } from "../../../src/journal/redaction/redactor.ts";
import { redactSecrets } from "../../../src/index.ts";

const redactor = new Redactor(redactSecrets(), (error) => expect(error).toBeUndefined());
const about = { to: "model" } as const;

const { privateKey } = generateKeyPairSync("rsa", {
  modulusLength: 2048,
  privateKeyEncoding: { type: "pkcs1", format: "pem" },
  publicKeyEncoding: { type: "pkcs1", format: "pem" },
});
const GITHUB = ["ghp", "0123456789abcdefghijABCDEFGHIJ012345"].join("_");
const ANTHROPIC = `sk-ant-api03-${"a".repeat(93)}AA`;
const JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl";

test.each([
  ["a token of a service", GITHUB, "github"],
  ["a key of a model", ANTHROPIC, "anthropic"],
  ["a JSON Web Token", JWT, "jwt"],
  ["a private key", privateKey.trim(), "privatekey"],
])("%s is taken out of texts and of JSON, wherever it stands", async (_, secret, what) => {
  for (const [text, isJson] of [
    [`Use ${secret} for this.`, false],
    [JSON.stringify({ rows: [{ note: `use ${secret}` }] }), true],
    [JSON.stringify({ [secret]: 1 }), true],
    [JSON.stringify([JSON.stringify({ inner: secret })]), true],
  ] as const) {
    const redacted = isJson ? await redactor.json(text, about) : await redactor.text(text, about);
    expect(redacted.text).toContain(`: ${what}]`);
    expect(redacted.text).not.toContain(JSON.stringify(secret).slice(1, -1).slice(20, 60));
    if (isJson) expect(() => JSON.parse(redacted.text) as unknown).not.toThrow();
  }
});

const pem = { format: "pem" } as const;
const encrypted = { ...pem, type: "pkcs8", cipher: "aes-256-cbc", passphrase: "any" } as const;
const old = { ...pem, type: "sec1", cipher: "aes-128-cbc", passphrase: "any" } as const;
const written = (key: KeyObject, how: object) => String(key.export(how as typeof pem & { type: "pkcs8" })).trim();
const ed25519 = generateKeyPairSync("ed25519").privateKey;
const ec = generateKeyPairSync("ec", { namedCurve: "prime256v1" }).privateKey;
const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;

describe("a private key is taken out whole, with and without its end, in texts and in strings of code", () => {
  test.each([
    ["ed25519", written(ed25519, { ...pem, type: "pkcs8" })],
    ["x25519", written(generateKeyPairSync("x25519").privateKey, { ...pem, type: "pkcs8" })],
    ["SEC1", written(ec, { ...pem, type: "sec1" })],
    ["SEC1, encrypted, with headers", written(ec, old)],
    ["PKCS #8", written(rsa, { ...pem, type: "pkcs8" })],
    ["PKCS #8, encrypted", written(ed25519, encrypted)],
    ["PKCS #8 of RSA, encrypted", written(rsa, encrypted)],
    [
      "as long as one of 8192 bits",
      `-----BEGIN PRIVATE KEY-----\n${`${"MIIJQ".repeat(13).slice(1)}\n`.repeat(99)}-----END PRIVATE KEY-----`,
    ],
    ["PKCS #1", written(rsa, { ...pem, type: "pkcs1" })],
    [
      "of OpenSSH",
      `-----BEGIN OPENSSH PRIVATE KEY-----\n${"b3Blbn".repeat(11)}\nAAAE\n-----END OPENSSH PRIVATE KEY-----`,
    ],
    [
      "of PGP",
      `-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: 1\n\n${"lQOYBF".repeat(10)}\n=abcd\n-----END PGP PRIVATE KEY BLOCK-----`,
    ],
  ])("%s", async (_, key) => {
    const cut = key.slice(0, key.lastIndexOf("\n"));
    const inCode = key.replaceAll("\n", String.raw`\n`);
    for (const form of [key, cut, inCode, key.replaceAll("\n", "\r\n"), key.replaceAll("\n", " ")]) {
      const { text } = await redactor.text(`The key:\n${form}\n`, about);
      expect(text).toMatch(/^The key:\n\[redacted \d+ characters: privatekey\]\s*$/);
    }
    const json = await redactor.json(JSON.stringify({ note: `${key}\nwords` }), about);
    expect(JSON.parse(json.text)).toEqual({
      note: expect.stringMatching(/^\[redacted \d+ characters: privatekey\]\nwords$/) as string,
    });
  });

  test("and words about keys stay", async () => {
    const text = "A line -----BEGIN CERTIFICATE----- is no key, and the public key is public.";
    expect((await redactor.text(text, about)).text).toBe(text);
  });
});

test.each(["AKIAIOSFODNN7EXAMPLE", "ASIAIOSFODNN7EXAMPLE"])("an id of a key of AWS is taken out: %s", async (id) => {
  const { text } = await redactor.text(`key ${id}, AWS_ID=${id} and x${id} is a word`, about);
  expect(text).toBe(
    `key [redacted 20 characters: aws-key-id], AWS_ID=[redacted 20 characters: aws-key-id] and x${id} is a word`,
  );
});

test("nothing that stands before a name hides it: another name, a long word, a quote that is open", async () => {
  for (const before of ["env: ", "a=", `${"x".repeat(100)}_`, "..", ".".repeat(100), "é", "--", '{"', "a:b:"])
    for (const value of ["hunter2", '"hunter2"', "'hunter2'", '"hunter2'])
      expect((await redactor.text(`${before}password=${value}`, about)).text).not.toContain("hunter2");
});

test("a text cannot switch a rule off", async () => {
  for (const words of ["secretlint-disable", "/* secretlint-disable */", "// secretlint-disable-next-line"]) {
    const { text } = await redactor.text(`${words}\n${GITHUB} // secretlint-disable-line`, about);
    expect(text).not.toContain(GITHUB);
  }
});

test("values under names that say so are taken out at any depth, whatever they are", async () => {
  const value = {
    user: { Password: "two\nlines", profile: { api_key: 12345, "Set-Cookie": ["a=1", "b=2"] } },
    credentials: { any: { thing: "deep" } },
    db: { connection_string: "a", "API-Key": "b", accessToken: "c", user_password: "d" },
    nextPageToken: "page-2",
    maxToken: 500,
    tokens: 12,
    passwords: 3,
    secrets: 4,
    key: "x",
    secretary: "Ann",
    note: "plain",
  };
  const { text, count } = await redactor.json(JSON.stringify(value), about);
  expect(JSON.parse(text)).toEqual({
    ...value,
    user: {
      Password: "[redacted 9 characters: named as secret]",
      profile: {
        api_key: "[redacted 5 characters: named as secret]",
        "Set-Cookie": ["[redacted 3 characters: named as secret]", "[redacted 3 characters: named as secret]"],
      },
    },
    credentials: { any: { thing: "[redacted 4 characters: named as secret]" } },
    db: Object.fromEntries(Object.keys(value.db).map((name) => [name, "[redacted 1 character: named as secret]"])),
  });
  expect(count).toBe(9 + 5 + 6 + 4 + 4);
});

test("in texts too, behind a colon or an equals sign", async () => {
  const { text } = await redactor.text(
    `Authorization: Bearer abc.def, password="two words" apiKey=k1&page=2 {"client_secret":"s"} PASSWORD: x`,
    about,
  );
  for (const secret of ["abc.def", "two words", "k1", '"s"', " x"]) expect(text).not.toContain(secret);
  expect(text).toContain("page=2");
});

test("and in the strings of JSON, where they are JSON, an environment, an address or a header", async () => {
  const value = {
    body: JSON.stringify({ password: "hunter2" }),
    file: "A=1\nDB_PASSWORD=hunter2\n",
    next: "https://host/items?page=2&api_key=hunter2",
    head: ["Authorization: Bearer hunter2"],
    code: "const token = next(); // password: one word",
  };
  const { text } = await redactor.json(JSON.stringify(value), about);
  expect(text).not.toContain("hunter2");
  expect(JSON.parse(text)).toMatchObject({ code: value.code });
  expect((await redactor.json(text, about)).count).toBe(0);
});

test("a name is one however much space is behind it", async () => {
  const { text } = await redactor.json(`{"password"${" ".repeat(1000)}: "hunter2"}`, about);
  expect(JSON.parse(text)).toEqual({ password: "[redacted 7 characters: named as secret]" });
});

test("what was redacted is not redacted again", async () => {
  const once = await redactor.text(`password=hunter2 ${GITHUB}`, about);
  const value = await redactor.json(JSON.stringify({ password: "hunter2", note: once.text }), about);
  expect((await redactor.json(value.text, about)).count).toBe(0);
  expect((await redactor.text(once.text, about)).count).toBe(0);
});

test("a secret that two parts of a long text share is found", async () => {
  const long = `${"x ".repeat(131_062)}${GITHUB}${" y".repeat(200_000)}`;
  expect(long.indexOf(GITHUB)).toBeLessThan(262_144);
  expect(long.indexOf(GITHUB) + GITHUB.length).toBeGreaterThan(262_144);
  const { text, count } = await redactor.text(long, about);
  expect(count).toBe(GITHUB.length);
  expect(text).not.toContain(GITHUB.slice(4));
});

test("without its rules it throws when it is made, so that no runtime begins that leaves out every text", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    "--conditions=portcullis-source",
    fileURLToPath(new URL("without-rules.ts", import.meta.url)),
  ]);
  expect(JSON.parse(stdout)).toEqual([
    "option_invalid",
    expect.stringContaining("npm install @secretlint/secretlint-rule-preset-recommend"),
  ]);
});
