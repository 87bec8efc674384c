import { performance } from "node:perf_hooks";
import { expect, test } from "vitest";
import { parseProgram } from "../../../src/programs/prepare/parse-program.ts";
import { stripTypes } from "../../../src/programs/prepare/type-stripper.ts";

const nested = (open: string, inner: string, close: string) => open.repeat(40) + inner + close.repeat(40);

/** Programs on which the stripper guesses within guesses: each level takes at least twice the time of the one within it. */
const GUESSES: readonly (readonly [string, string])[] = [
  ["type arguments with a computed name", `let q: number = ${nested("a<{[", "1", "]}>(1)")}`],
  ["type arguments that nothing closes", `let q: number = ${"a<{[".repeat(40)}1`],
  ["types of functions with a default", `type A = ${nested("([a=b as ", "1", "])")};`],
  ["type parameters of arrow functions", `let x: number; ${nested("<T>(", "1", ")")}`],
  ["conditions with arrow functions", `let x: number; ${nested("a?(b):c=>{return ", "1", "}")}`],
];

test.each(GUESSES)(
  "a program whose type stripping does not end is refused, without blocking the host: %s",
  async (_, code) => {
    const before = performance.eventLoopUtilization();
    const cpu = process.threadCpuUsage();
    const parsed = await parseProgram(code);
    const { user, system } = process.threadCpuUsage(cpu);
    expect(parsed).toMatchObject({ fault: { name: "SyntaxError" } });
    expect((user + system) / 1000).toBeLessThan(200);
    expect(performance.eventLoopUtilization(before).utilization).toBeLessThan(0.9);
    expect(await stripTypes("let a: number = 1", { tenant: "" })).toEqual({ type: "code", code: "let a         = 1" });
  },
);

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
  "a program that becomes enormous without its types is refused, and the next one is stripped: %s",
  async (_, code) => {
    expect(code.length).toBeLessThan(32 * 1024);
    expect(await parseProgram(code)).toMatchObject({
      fault: {
        code: "typescript_unsupported",
        message: expect.stringContaining("more than 131072 characters") as string,
      },
    });
    expect(await parseProgram("enum E { a }\nreturn E.a;")).toHaveProperty("body");
  },
);

test("programs whose type stripping does not end do not delay another tenant's program", async () => {
  const [, [, endless]] = GUESSES as [unknown, readonly [string, string]];
  let ended = 0;
  const stop = new AbortController();
  const attack = Array.from({ length: 20 }, () =>
    stripTypes(`async function f(){${endless}}`, { tenant: "attacker", signal: stop.signal }).then(() => (ended += 1)),
  );
  expect(await stripTypes("let a: number", { tenant: "other" })).toEqual({ type: "code", code: "let a        " });
  expect(ended).toBeLessThanOrEqual(1);
  stop.abort();
  await Promise.all(attack);
});
