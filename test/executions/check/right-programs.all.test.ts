import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { z } from "zod";
import { defineTool, type Tool } from "../../../src/index.ts";
import { ORDINARY_PROGRAMS } from "../ordinary-programs.ts";
import { checkProgramsOfFile } from "../../support/check-programs.ts";
import { IDIOMS, SHOP } from "./idioms.ts";
import { executed } from "../../support/runtime.ts";

checkProgramsOfFile();

const EXAMPLES = fileURLToPath(new URL("../../../examples/", import.meta.url));

interface Right {
  readonly name: string;
  readonly program: string;
  readonly tools: readonly Tool[];
}

/** The tools that ordinary programs call, with all that they read of results declared, and nothing else. */
const ORDINARY_TOOLS = ["echo", "later", "broken"].map((name) =>
  defineTool({
    name,
    description: `${name}, for tests`,
    inputSchema: z.looseObject({ n: z.number().optional(), ms: z.number().optional() }),
    outputSchema: z.object({ n: z.number().optional(), first: z.boolean().optional(), page: z.number().optional() }),
    effect: "read",
    allowedCallers: ["programmatic"],
    // Calls are checked, and none is made: the check is all that is asked for here.
    execute: () => Promise.reject(new Error("not called for its result")),
  }),
);

const ordinary = ORDINARY_PROGRAMS.map(({ does, program }) => ({ name: does, program, tools: ORDINARY_TOOLS }));

/** Each program of the examples, with each of the files of tools that it may be run with. */
async function ofExamples(): Promise<readonly Right[]> {
  const found: Right[] = [];
  for (const { name } of readdirSync(EXAMPLES, { withFileTypes: true }).filter((entry) => entry.isDirectory())) {
    const files = readdirSync(EXAMPLES + name);
    const programs = files.filter((file) => /^(?:program|sweep)\.js$/.test(file));
    if (programs.length === 0) continue;
    const { default: tools } = (await import(`${EXAMPLES}${name}/tools.ts`)) as { readonly default: readonly Tool[] };
    for (const file of programs)
      found.push({ name: `${name}/${file}`, program: readFileSync(`${EXAMPLES}${name}/${file}`, "utf8"), tools });
  }
  return found;
}

/** Programs whose check came to something else than "right", with what it came to. A program that makes no call has no check. */
async function notRight(programs: readonly Right[]) {
  const wrong: string[] = [];
  let checked = 0;
  for (const { name, program, tools } of programs) {
    const stop = new AbortController();
    await executed(tools, program, {
      checkPrograms: "refuse",
      signal: stop.signal,
      limits: { wallMs: 20_000 },
      onEvent: (event) => {
        if (event.type !== "program_checked") return;
        checked += 1;
        if (event.verdict !== "right") wrong.push(`${name}: ${event.verdict}`);
        stop.abort();
      },
    });
  }
  return { wrong, checked };
}

test("of the right programs of the tests and the examples none is refused, and at most one in a hundred has a warning", async () => {
  const idioms = Object.entries(IDIOMS).map(([name, program]) => ({ name, program, tools: SHOP }));
  const programs = [...ordinary, ...idioms, ...(await ofExamples())];
  const { wrong, checked } = await notRight(programs);
  expect(checked).toBeGreaterThan(80);
  expect(wrong.filter((one) => !one.endsWith(": warned"))).toEqual([]);
  expect(wrong.length, wrong.join("\n")).toBeLessThanOrEqual(checked / 100);
}, 120_000);
