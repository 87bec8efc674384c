import { performance } from "node:perf_hooks";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { prepare } from "../../../src/programs/prepare/prepare.ts";
import { PROGRAM_BYTES } from "../../../src/programs/prepare/refuse-text.ts";
import { processorMs, slowness } from "../../support/slowness.ts";
import { runs } from "../../support/all-tests.ts";

const nested = (open: string, inner: string, close: string) => open.repeat(40) + inner + close.repeat(40);
const groups = (count: number) =>
  Array.from({ length: count }, () => 0).reduce((inner) => `(?:${inner}|(?<a>))`, "(?<a>)");

/** Programs that take more than a second to read: each level takes at least twice the time of the one within it. */
const HARD: readonly (readonly [string, string])[] = [
  ["type arguments with a computed name", `let q: number = ${nested("a<{[", "1", "]}>(1)")}`],
  ["type arguments that nothing closes", `let q: number = ${"a<{[".repeat(40)}1`],
  ["types of functions with a default", `type A = ${nested("([a=b as ", "1", "])")};`],
  ["type parameters of arrow functions", `let x: number; ${nested("<T>(", "1", ")")}`],
  ["conditions with arrow functions", `let x: number; ${nested("a?(b):c=>{return ", "1", "}")}`],
  ["a regular expression of groups with one name", `return /${groups(600)}/;`],
];

test.each(HARD)("a program that takes too long to read is refused, without blocking the host: %s", async (_, code) => {
  expect(code.length).toBeLessThan(PROGRAM_BYTES);
  const before = performance.eventLoopUtilization();
  const ms = await processorMs(async () =>
    expect(await prepare(code)).toMatchObject({
      fault: { name: "SyntaxError", message: expect.stringContaining("too long") as string },
    }),
  );
  expect(ms).toBeLessThan(200 * slowness("processor"));
  expect(performance.eventLoopUtilization(before).utilization).toBeLessThan(0.9);
  expect(await prepare("let a: number = 1")).toMatchObject({ ok: true, program: "let a         = 1" });
});

/** Regular expressions of all that acorn reads, each part of which may hold or repeat others. */
const PATTERNS = fc.letrec<Record<"pattern", string>>((tie) => ({
  pattern: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom("a", "[^a-z]", "\\p{L}", "(?<a>)", "(?<b>x)", "\\k<a>", "(?<=a)", "(?i:b)", "[a&&b]", "\\u{1f600}"),
    fc.array(tie("pattern"), { maxLength: 4 }).map((parts) => parts.join("")),
    fc.array(tie("pattern"), { maxLength: 4 }).map((parts) => parts.join("|")),
    fc.tuple(fc.constantFrom("(", "(?:", "(?<a>", "(?=", "(?<!"), tie("pattern")).map((parts) => `${parts.join("")})`),
    fc.tuple(tie("pattern"), fc.constantFrom("*", "+?", "{2,3}")).map((parts) => parts.join("")),
  ),
})).pattern;

test("no regular expression of a program takes more of the host's thread than a message to another one", async () => {
  await prepare("return 1");
  await fc.assert(
    fc.asyncProperty(
      PATTERNS,
      PATTERNS,
      fc.constantFrom("", "u", "v"),
      fc.integer({ min: 1, max: 12 }),
      async (inner, around, flags, doublings) => {
        let pattern = inner;
        for (let count = 0; count < doublings && pattern.length < PROGRAM_BYTES / 4; count += 1)
          pattern = count % 2 === 0 ? `(?:${pattern}|${around})${pattern}` : `${pattern}|${pattern}`;
        const source = `return /${pattern}/${flags};`;
        const ms = await processorMs(() => prepare(source));
        if (ms >= 100) expect(ms).toBeLessThan(100 * slowness("processor"));
      },
    ),
    { numRuns: runs(25), interruptAfterTimeLimit: 20_000 },
  );
});

const doubled = Array.from({ length: 30 }, (_, index) => `a${index + 1} = a${index} + a${index}`).join(", ");

/** TypeScript that becomes many times as long as JavaScript, because the values of members are written where they are named. */
test.each([
  ["members of an enum that double", `enum E { a0 = "0123456789abcdef", ${doubled} }`],
  [
    "members of an enum that have one long value",
    `enum E { a = "${"x".repeat(10_000)}", ${Array.from({ length: 1500 }, (_, index) => `b${index} = a`).join(", ")} }`,
  ],
  [
    "mentions of a member with a long value",
    `const enum E { a = "${"x".repeat(10_000)}" }\nreturn [${"E.a, ".repeat(4000)}];`,
  ],
])(
  "a program that becomes enormous without its types is refused, and the next one is prepared: %s",
  async (_, code) => {
    expect(code.length).toBeLessThan(32 * 1024);
    expect(await prepare(code)).toMatchObject({
      fault: {
        code: "typescript_unsupported",
        message: expect.stringContaining("more than 131072 characters") as string,
      },
    });
    expect(await prepare("enum E { a }\nreturn E.a;")).toMatchObject({ ok: true });
  },
);

test("programs that take too long to read delay another tenant's program by one of them at most", async () => {
  const [, [, endless]] = HARD as [unknown, readonly [string, string]];
  let ended = 0;
  const stop = new AbortController();
  const attack = Array.from({ length: 20 }, () =>
    prepare(endless, "javascript", { tenant: "attacker", signal: stop.signal }).then(() => (ended += 1)),
  );
  expect(await prepare("return 1", "javascript", { tenant: "other" })).toMatchObject({ ok: true });
  expect(ended).toBeLessThanOrEqual(1);
  stop.abort();
  await Promise.all(attack);
});

test("a program whose answer came while the host was busy for longer than the deadline is not refused", async () => {
  await prepare("return 1");
  const prepared = prepare("return 2");
  // The thread answers meanwhile; the deadline is over when the host looks next.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500);
  expect(await prepared).toMatchObject({ ok: true });
});

test.each([
  ["brackets", "(".repeat(1000)],
  ["types in brackets", `let x: ${"{a:".repeat(1000)}1${"}".repeat(1000)}`],
  ["type arguments", `let x: ${"A<".repeat(10_000)}B${">".repeat(10_000)}`],
  ["operators", `${"!".repeat(30_000)}1`],
  ["operators behind a type", `let x: number = ${"!".repeat(30_000)}1`],
])("a program of too many nested %s leaves the next one's types to be stripped", async (_, deep) => {
  for (let attempt = 0; attempt < 2; attempt += 1) {
    expect(await prepare(deep)).toHaveProperty("fault.code", "syntax");
    expect(await prepare("let a: number = 1")).toMatchObject({ ok: true, program: "let a         = 1" });
  }
});
