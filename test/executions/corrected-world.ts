import { z } from "zod";
import { defineTool, type Tool } from "../../src/index.ts";

/** One call of a program: the tool, and its input. */
export type Step = readonly [tool: "get" | "rows" | "add" | "set", input: Readonly<Record<string, unknown>>];

/** Steps that a program makes at once. */
export type Group = readonly Step[];

export const isChange = ([tool]: Step): boolean => tool === "add" || tool === "set";

/** Numbers under names, which tools read and change. It counts how often each change was made, and how many handlers ran. */
export class World {
  readonly numbers = new Map<string, number>();
  readonly made = new Map<string, number>();
  readonly results = new Map<string, number>();
  handlers = 0;

  get tools(): readonly Tool[] {
    const common = { description: "d", allowedCallers: ["programmatic"] } as const;
    const change = z.object({ name: z.string(), by: z.number(), id: z.number().optional() });
    const put = z.object({ name: z.string(), to: z.number(), id: z.number().optional() });
    return [
      defineTool({
        ...common,
        name: "get",
        effect: "read",
        inputSchema: z.object({ name: z.string() }),
        execute: ({ name }) => this.#count(() => this.#numberOf(name)),
      }),
      defineTool({
        ...common,
        name: "rows",
        effect: "read",
        stream: true,
        inputSchema: z.object({ name: z.string() }),
        outputSchema: z.object({ row: z.number(), value: z.number() }),
        execute: ({ name }) => this.#count(() => [1, 2, 3].map((row) => ({ row, value: this.#numberOf(name) }))),
      }),
      defineTool({
        ...common,
        name: "add",
        effect: "write",
        inputSchema: change,
        execute: (input) => this.#change(["add", input], () => this.#numberOf(input.name) + input.by, input.name),
      }),
      defineTool({
        ...common,
        name: "set",
        effect: "idempotent",
        inputSchema: put,
        execute: (input) => this.#change(["set", input], () => input.to, input.name),
      }),
    ];
  }

  #numberOf(name: string): number {
    return this.numbers.get(name) ?? 0;
  }

  #count<Value>(work: () => Value): Value {
    this.handlers += 1;
    return work();
  }

  async #change(step: Step, work: () => number, name: string): Promise<number> {
    const value = this.#count(work);
    this.numbers.set(name, value);
    const key = keyOf(step);
    this.made.set(key, (this.made.get(key) ?? 0) + 1);
    this.results.set(key, value);
    // Its answer comes later: the call may be given up meanwhile.
    await new Promise((resolve) => setImmediate(resolve));
    return value;
  }
}

export function keyOf([tool, input]: Step): string {
  return JSON.stringify([tool, Object.entries(input).toSorted(([one], [other]) => one.localeCompare(other))]);
}

/** A program in JavaScript that makes the groups one after the other, and ends as `end` says. */
export function javascriptOf(groups: readonly Group[], end: "return" | "throw"): string {
  return `
    const groups = ${JSON.stringify(groups)};
    const out = [];
    const call = (name, input) => (name === "rows" ? Array.fromAsync(tools.rows(input)) : tools[name](input));
    for (const group of groups) out.push(await Promise.all(group.map(([name, input]) => call(name, input))));
    ${end === "return" ? "return out;" : 'throw new Error("the last line is wrong");'}`;
}

/** The same in Python. */
export function pythonOf(groups: readonly Group[], end: "return" | "throw"): string {
  return `
import asyncio, json

groups = json.loads(${JSON.stringify(JSON.stringify(groups))})
out = []

async def call(name, input):
    if name == "rows":
        return [row async for row in tools.rows(input)]
    return await getattr(tools, name)(input)

for group in groups:
    out.append(await asyncio.gather(*[call(name, input) for name, input in group]))
${end === "return" ? "out" : 'raise ValueError("the last line is wrong")'}
`;
}
