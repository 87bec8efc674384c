import { setImmediate as nextRound } from "node:timers/promises";
import { z } from "zod";
import { type CallContext, type Caller, defineTool, type Tool } from "../../src/index.ts";

/** A program, the value that it must return, and the number of writes that it makes. */
export interface Shape {
  readonly program: string;
  readonly value: unknown;
  readonly writes: number;
}

/** Text of a result that a journal keeps once, by its hash. */
const LARGE = "x".repeat(70_000);

export const SHAPES: readonly Shape[] = [
  {
    program: "let sum = 0; for (let n = 1; n <= 6; n += 1) sum += await tools.double({ n }); return sum;",
    value: 42,
    writes: 0,
  },
  {
    program: "return (await Promise.all([1, 2, 3, 4, 5].map((n) => tools.double({ n })))).reduce((a, b) => a + b);",
    value: 30,
    writes: 0,
  },
  {
    program: `const first = await Promise.race([tools.double({ n: 4 }), new Promise((resolve) => setTimeout(resolve, 86_400_000))]);
      await new Promise((resolve) => setTimeout(resolve, 5));
      return first;`,
    value: 8,
    writes: 0,
  },
  {
    program:
      "const keys = []; for (const n of [1, 2, 3]) keys.push(await tools.pay({ n })); return new Set(keys).size;",
    value: 3,
    writes: 3,
  },
  {
    program: "const key = await tools.refund({ n: 1 }); await tools.pay({ n: 2 }); return key.startsWith('e');",
    value: true,
    writes: 2,
  },
  {
    program: "return (await Promise.all([tools.ask({ n: 1 }), tools.ask({ n: 2 }), tools.double({ n: 1 })])).join();",
    value: "7,7,2",
    writes: 0,
  },
  {
    program: `const caught = await tools.fails({ n: 1 }).catch((error) => error.code);
      await tools.put({ n: 2 });
      return caught;`,
    value: "handler_failed",
    writes: 0,
  },
  {
    program: `const [{ length }, key, , units] = await Promise.all([
        tools.large({ n: 1 }), tools.pay({ n: 1 }), tools.put({ n: 1 }), tools.ask({ n: 1 }), tools.fails({ n: 1 }).catch(() => 0)]);
      await tools.refund({ n: 2 });
      return [length, typeof key, units];`,
    value: [LARGE.length, "string", 7],
    writes: 2,
  },
  {
    program: `let sum = 0;
      for await (const n of tools.rows({ n: 2500 })) {
        sum += n;
        if (n % 500 === 0) await tools.double({ n });
      }
      for await (const n of tools.again({ n: 2500 })) if (n > 1800) break; else sum += n;
      await tools.pay({ n: 1 });
      return sum;`,
    value: 2499 * 1250 + 1801 * 900,
    writes: 1,
  },
];

/** Runs what a handler does when it takes effect, under its idempotency key. */
export type Effect = (key: string, kind: "write" | "idempotent") => Promise<void>;

/** Numbers that take some turns of the event loop, so that a driver can die among them. */
async function* rows(from: number, to: number): AsyncGenerator<number> {
  for (let n = from; n < to; n += 1) {
    if (n % 400 === 0) await nextRound();
    yield n;
  }
}

/** A key without the start of its execution, which whoever decides does not read. */
const keyOf = ({ idempotencyKey }: Pick<CallContext, "idempotencyKey">) =>
  idempotencyKey.replace(/:\d{13}(?=:[^:]+:[0-9a-f]{64}$)/, "");

/** `begin` is called with its key each time that the handler of a write begins. */
export function makeTools(
  begin: (key: string) => void,
  effect: Effect,
  allowedCallers: readonly Caller[] = ["programmatic"],
): readonly Tool[] {
  const common = { description: "d", inputSchema: z.object({ n: z.number() }), allowedCallers } as const;
  const write = async (_: unknown, context: CallContext) => {
    const key = keyOf(context);
    begin(key);
    await effect(key, "write");
    return key;
  };
  const stream = { ...common, effect: "read", outputSchema: z.number(), stream: true } as const;
  return [
    defineTool({ ...stream, name: "rows", execute: ({ n }, { previous: after }) => rows(after?.items ?? 0, n) }),
    defineTool({ ...stream, name: "again", resumes: "from-start", execute: ({ n }) => rows(0, n) }),
    defineTool({ ...common, name: "double", effect: "read", execute: ({ n }) => n * 2 }),
    defineTool({ ...common, name: "large", effect: "read", execute: () => LARGE }),
    defineTool({ ...common, name: "pay", effect: "write", execute: write }),
    defineTool({ ...common, name: "refund", effect: "write", approval: "always", execute: write }),
    defineTool({
      ...common,
      name: "put",
      effect: "idempotent",
      execute: (_, context) => effect(keyOf(context), "idempotent").then(() => null),
    }),
    defineTool({ ...common, name: "ask", effect: "read", execute: "client" }),
    defineTool({ ...common, name: "fails", effect: "read", execute: () => Promise.reject(new Error("always")) }),
  ];
}

/** Whether a write with this key stands in the effects. */
export function isWritten(effects: string, key: string): boolean {
  return effects.split("\n").includes(`${key} write`);
}
