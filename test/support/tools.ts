import { z } from "zod";
import {
  type AgentToolOptions,
  agentAsTool,
  type CallContext,
  defineTool,
  type Schema,
  type Tool,
  type ToolOptions,
} from "../../src/index.ts";

/** Something to wait for, and the means to let it happen. */
export function signal(): { readonly happened: Promise<void>; readonly happen: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { happened: promise, happen: resolve };
}

/** Work that never ends, and the moment at which it has begun. */
export function endless() {
  const { happened, happen } = signal();
  return { begun: happened, run: () => (happen(), new Promise<never>(() => {})) };
}

/** A tool called `t` for programs, which takes anything and says "ok", but for what is said here. */
export function makeTool<
  Input extends Schema = z.ZodObject,
  Output extends Schema | undefined = undefined,
  const Stream extends boolean = false,
>(changes: Partial<ToolOptions<Input, Output, unknown, Stream>> = {}): Tool {
  return defineTool({
    name: "t",
    description: "Does it",
    inputSchema: z.looseObject({}),
    allowedCallers: ["programmatic"],
    effect: "read",
    execute: () => "ok",
    ...changes,
  } as ToolOptions<Input, Output, unknown, Stream>);
}

/** A tool for programs that only reads, unless it says otherwise. */
export function tool(
  name: string,
  handler: Tool["execute"],
  options: Partial<Pick<Tool, "effect" | "timeoutMs" | "concurrency" | "outputSchema">> = {},
): Tool {
  return makeTool({ name, description: `${name}, for tests`, execute: handler, ...options });
}

/** A tool that answers when it is told to. */
export function holding() {
  const [called, released] = [signal(), signal()];
  const hold = tool("hold", async () => {
    called.happen();
    await released.happened;
    return "held";
  });
  return { hold, called: called.happened, release: released.happen };
}

/** A tool that notes the inputs of its calls. */
export function notedTool({ execute = () => "ok", ...changes }: Noted = {}) {
  const inputs: unknown[] = [];
  const tool = makeTool<Schema>({
    ...changes,
    execute: (input, context) => {
      inputs.push(input);
      return execute(input as never, context);
    },
  });
  return { tool, inputs };
}
type Noted = Partial<Omit<ToolOptions<Schema>, "execute">> & {
  readonly execute?: (input: never, context: CallContext) => unknown;
};

/** An agent that is a tool of this name, for both callers and without tools of its own, but for what is said here. */
export const agentOf = (
  name: string,
  model: AgentToolOptions["model"],
  changes: Partial<AgentToolOptions> = {},
): Tool =>
  agentAsTool({
    name,
    description: `Does ${name}`,
    allowedCallers: ["direct", "programmatic"],
    model,
    tools: [],
    ...changes,
  });

/** Gives back its input. */
export const echo = tool("echo", (input) => input);

/** Gives back its input after so many milliseconds as `ms` says, 1 by default. */
export const later = tool("later", async (input) => {
  const { ms = 1 } = input as { readonly ms?: number };
  await new Promise((resolve) => setTimeout(resolve, ms));
  return input;
});

/** Always fails. */
export const broken = tool("broken", () => {
  throw new Error("the password is hunter2, see /etc/shadow");
});

/** For both callers: a thing costs as many euros as its name has letters. */
export const price = makeTool({
  name: "shop.price",
  description: "Price of one thing.",
  inputSchema: z.object({ thing: z.string() }),
  outputSchema: z.object({ euros: z.number() }),
  allowedCallers: ["direct", "programmatic"],
  execute: ({ thing }) => ({ euros: thing.length }),
});

/** For programs: writes, and only after an approval. */
const payment = { name: "pay", description: "Pays", effect: "write", approval: "always" } as const;
export const pay = makeTool({ ...payment, inputSchema: z.object({}), execute: () => "paid" });

/** For both callers: pays euros, only after an approval. It counts the payments by idempotency key. */
export function payTool() {
  const paid = new Map<string, number>();
  const tool = makeTool({
    ...payment,
    inputSchema: z.object({ euros: z.number() }),
    allowedCallers: ["direct", "programmatic"],
    execute: ({ euros }, { idempotencyKey }) => {
      paid.set(idempotencyKey, (paid.get(idempotencyKey) ?? 0) + 1);
      return { paid: euros };
    },
  });
  return { tool, paid };
}
