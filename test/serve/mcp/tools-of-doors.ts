import { defineTool, type Tool } from "portcullis";
import { z } from "zod";

const read = { allowedCallers: ["direct", "programmatic"], effect: "read" } as const;

/** Gates by name, each of which stays open. */
class Gates {
  readonly #gates = new Map<string, PromiseWithResolvers<void>>();

  of(name: string): PromiseWithResolvers<void> {
    const gate = this.#gates.get(name) ?? Promise.withResolvers<void>();
    this.#gates.set(name, gate);
    return gate;
  }
}

/** Tools whose state is one door's: what was paid, the calls that were stopped, gates. `onList` is called by each `shop.list`. */
export function doorTools(onList: () => void = () => {}): readonly Tool[] {
  const paid: number[] = [];
  const gates = new Gates();
  let hanging = 0;
  let stopped = 0;

  const list = defineTool({
    ...read,
    name: "shop.list",
    description: "Lists n articles",
    inputSchema: z.object({ n: z.number().int() }),
    execute: ({ n }) => {
      onList();
      return Array.from({ length: n }, (_, id) => ({ id, name: `article ${id}` }));
    },
  });

  const pay = defineTool({
    name: "bank.pay",
    description: "Pays an amount",
    inputSchema: z.object({ cents: z.number() }),
    allowedCallers: ["direct", "programmatic"],
    effect: "write",
    approval: "always",
    execute: ({ cents }) => {
      paid.push(cents);
      return `paid ${cents}`;
    },
  });

  const statement = defineTool({
    ...read,
    name: "bank.statement",
    description: "What was paid so far, how many calls hang or have hung, and how many were stopped",
    inputSchema: z.object({}),
    execute: () => ({ paid, hanging, stopped }),
  });

  const hang = defineTool({
    ...read,
    name: "clock.hang",
    description: "Waits until its call is cancelled",
    inputSchema: z.object({}),
    execute: (_, { signal }) =>
      new Promise((_resolve, reject) => {
        hanging += 1;
        signal.addEventListener("abort", () => {
          stopped += 1;
          reject(new Error("stopped"));
        });
      }),
  });

  const wait = defineTool({
    ...read,
    name: "clock.wait",
    description: "Waits until clock.go was called with this name",
    inputSchema: z.object({ name: z.string() }),
    execute: ({ name }) => gates.of(name).promise.then(() => "waited"),
  });

  const go = defineTool({
    ...read,
    name: "clock.go",
    description: "Ends what waits for this name",
    inputSchema: z.object({ name: z.string() }),
    execute: ({ name }) => gates.of(name).resolve(),
  });

  const stray = defineTool({
    ...read,
    name: "clock.stray",
    description: "Leaves a rejection and an error behind, which would end a process that does not expect them",
    inputSchema: z.object({}),
    execute: () => {
      void Promise.reject(new Error("a stray rejection"));
      setTimeout(() => {
        throw new Error("a stray error");
      });
      return "left";
    },
  });

  const secret = defineTool({
    name: "only.programs",
    description: "For programs",
    inputSchema: z.object({}),
    allowedCallers: ["programmatic"],
    effect: "read",
    execute: () => 1,
  });

  return [list, pay, statement, hang, wait, go, stray, secret];
}
