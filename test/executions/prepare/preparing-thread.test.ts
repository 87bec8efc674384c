import { expect, test } from "vitest";
import { prepare } from "../../../src/executions/prepare/prepare.ts";
import { PROGRAM_BYTES } from "../../../src/executions/prepare/refuse-text.ts";
import { HARD } from "./hard-programs.ts";
import { ALL_TESTS, someOf, testOfAll } from "../../support/all-tests.ts";
import { failing } from "../../support/failing.ts";

testOfAll.each(HARD)(
  "a program that takes too long to read is refused, and the next one is prepared: %s",
  async (_, code) => {
    expect(code.length).toBeLessThan(PROGRAM_BYTES);
    expect(await prepare(code)).toMatchObject({
      fault: { name: "SyntaxError", message: expect.stringContaining("too long") as string },
    });
    expect(await prepare("let a: number = 1")).toMatchObject({ ok: true, program: "let a         = 1" });
  },
);

const doubled = Array.from({ length: 30 }, (_, index) => `a${index + 1} = a${index} + a${index}`).join(", ");

/** TypeScript that becomes many times as long as JavaScript, because the values of members are written where they are named. */
testOfAll.each(
  Object.entries({
    "members of an enum that double": `enum E { a0 = "0123456789abcdef", ${doubled} }`,
    "members of an enum that have one long value": `enum E { a = "${"x".repeat(10_000)}", ${Array.from({ length: 1500 }, (_, index) => `b${index} = a`).join(", ")} }`,
    "mentions of a member with a long value": `const enum E { a = "${"x".repeat(10_000)}" }\nreturn [${"E.a, ".repeat(4000)}];`,
  }),
)("a program that becomes enormous without its types is refused, and the next one is prepared: %s", async (_, code) => {
  expect(code.length).toBeLessThan(32 * 1024);
  expect(await prepare(code)).toMatchObject({
    fault: failing("typescript_unsupported", "more than 131072 characters"),
  });
  expect(await prepare("enum E { a }\nreturn E.a;")).toMatchObject({ ok: true });
});

test("programs that take too long to read delay another tenant's program by one of them at most", async () => {
  const [, [, endless]] = HARD as [unknown, readonly [string, string]];
  const ended: unknown[] = [];
  const stop = new AbortController();
  const attack = Array.from({ length: 20 }, () =>
    prepare(endless, "javascript", { tenant: "attacker", signal: stop.signal }).then((one) => ended.push(one)),
  );
  expect(await prepare("return 1", "javascript", { tenant: "other" })).toMatchObject({ ok: true });
  expect(ended).toMatchObject([{ fault: { message: expect.stringContaining("too long") as string } }]);
  stop.abort();
  await Promise.all(attack);
});

testOfAll(
  "a program whose answer came while the host was busy for longer than the deadline is not refused",
  async () => {
    await prepare("return 1");
    const prepared = prepare("return 2");
    // The thread answers meanwhile; the deadline is over when the host looks next.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500);
    expect(await prepared).toMatchObject({ ok: true });
  },
);

const NESTED: readonly (readonly [string, string])[] = [
  ["brackets", "(".repeat(1000)],
  ["types in brackets", `let x: ${"{a:".repeat(1000)}1${"}".repeat(1000)}`],
  ["type arguments", `let x: ${"A<".repeat(10_000)}B${">".repeat(10_000)}`],
  ["operators", `${"!".repeat(30_000)}1`],
  ["operators behind a type", `let x: number = ${"!".repeat(30_000)}1`],
];

test.each(someOf(NESTED, 1))(
  "a program of too many nested %s leaves the next one's types to be stripped",
  async (_, deep) => {
    for (let attempt = 0; attempt < (ALL_TESTS ? 2 : 1); attempt += 1) {
      expect(await prepare(deep)).toHaveProperty("fault.code", "syntax");
      expect(await prepare("let a: number = 1")).toMatchObject({ ok: true, program: "let a         = 1" });
    }
  },
);
