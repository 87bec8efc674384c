import { z } from "zod";
import { defineTool, type Tool } from "../../src/index.ts";

/** Programs of several shapes, with the value that each must return. */
export const SHAPES: readonly { readonly program: string; readonly value: (id: string) => unknown }[] = [
  {
    program: "let sum = 0; for (let n = 1; n <= 6; n += 1) sum += await tools.double({ n }); return sum;",
    value: () => 42,
  },
  {
    program: "return (await Promise.all([1, 2, 3, 4, 5].map((n) => tools.double({ n })))).reduce((a, b) => a + b);",
    value: () => 30,
  },
  {
    program: `const first = await Promise.race([tools.double({ n: 4 }), new Promise((resolve) => setTimeout(resolve, 60_000))]);
      await new Promise((resolve) => setTimeout(resolve, 5));
      return first;`,
    value: () => 8,
  },
  {
    program: "const keys = []; for (const n of [1, 2, 3]) keys.push(await tools.pay({ n })); return keys.length;",
    value: () => 3,
  },
  {
    program: "const key = await tools.refund({ n: 1 }); await tools.pay({ n: 2 }); return key.startsWith('e');",
    value: () => true,
  },
  {
    program: "return (await Promise.all([tools.ask({ n: 1 }), tools.ask({ n: 2 }), tools.double({ n: 1 })])).join();",
    value: () => "7,7,2",
  },
  {
    program: `const caught = await tools.fails({ n: 1 }).catch((error) => error.code);
      await tools.put({ n: 2 });
      return caught;`,
    value: () => "handler_failed",
  },
];

/** `note` is given a line for each run of a handler: `KEY EFFECT`. */
export function makeTools(note: (line: string) => void): readonly Tool[] {
  const common = { description: "d", input: z.object({ n: z.number() }), allowedCallers: ["programmatic"] } as const;
  const write = (_: unknown, { idempotencyKey }: { readonly idempotencyKey: string }) => {
    note(`${idempotencyKey} write`);
    return idempotencyKey;
  };
  return [
    defineTool({ ...common, name: "double", effect: "read", handler: ({ n }) => n * 2 }),
    defineTool({ ...common, name: "pay", effect: "write", handler: write }),
    defineTool({ ...common, name: "refund", effect: "write", approval: "always", handler: write }),
    defineTool({
      ...common,
      name: "put",
      effect: "idempotent",
      handler: (_, { idempotencyKey }) => {
        note(`${idempotencyKey} idempotent`);
        return null;
      },
    }),
    defineTool({ ...common, name: "ask", effect: "read", handler: "client" }),
    defineTool({
      ...common,
      name: "fails",
      effect: "read",
      handler: () => {
        throw new Error("always");
      },
    }),
  ];
}

/** Whether a write with this key stands in the effects. */
export function isWritten(effects: string, key: string): boolean {
  return effects.split("\n").includes(`${key} write`);
}
