import { defineTool, type Tool } from "portcullis";
import { z } from "zod";

type Execute<Input> = (input: Input, context: { readonly signal: AbortSignal }) => unknown;

/** A tool for both callers that reads, if nothing else is said. */
const tool = <Shape extends z.ZodRawShape>(
  name: string,
  shape: Shape,
  execute: Execute<z.output<z.ZodObject<Shape>>>,
  more: object = {},
): Tool =>
  defineTool({
    name,
    description: `Does ${name}`,
    inputSchema: z.object(shape),
    allowedCallers: ["direct", "programmatic"],
    effect: "read",
    execute,
    ...more,
  } as never);

/** Tools whose state is one door's: what was paid, the calls that were stopped, gates. `onList` is called by each `shop.list`. */
export function doorTools(onList: () => void = () => {}): readonly Tool[] {
  const paid: number[] = [];
  const gates = new Map<string, PromiseWithResolvers<void>>();
  const gate = (name: string) => {
    const one = gates.get(name) ?? Promise.withResolvers<void>();
    gates.set(name, one);
    return one;
  };
  let hanging = 0;
  let stopped = 0;
  return [
    tool("shop.list", { n: z.number().int() }, ({ n }) => {
      onList();
      return Array.from({ length: n }, (_, id) => ({ id, name: `article ${id}` }));
    }),
    tool("bank.pay", { cents: z.number() }, ({ cents }) => (paid.push(cents), `paid ${cents}`), {
      description: "Pays an amount",
      effect: "write",
      approval: "always",
    }),
    // What was paid so far, how many calls hang or have hung, and how many were stopped.
    tool("bank.statement", {}, () => ({ paid, hanging, stopped })),
    tool(
      "clock.hang",
      {},
      (_, { signal }) =>
        new Promise((_resolve, reject) => {
          hanging += 1;
          signal.addEventListener("abort", () => {
            stopped += 1;
            reject(new Error("stopped"));
          });
        }),
    ),
    tool("clock.wait", { name: z.string() }, ({ name }) => gate(name).promise.then(() => "waited")),
    tool("clock.go", { name: z.string() }, ({ name }) => gate(name).resolve()),
    // Leaves a rejection and an error behind, which would end a process that does not expect them.
    tool("clock.stray", {}, () => {
      void Promise.reject(new Error("a stray rejection"));
      setTimeout(() => {
        throw new Error("a stray error");
      });
      return "left";
    }),
    tool("only.programs", {}, () => 1, { allowedCallers: ["programmatic"] }),
  ];
}
