import type { GatewayClients } from "../gateways.ts";

/** What a client of the matrix is given: whom it asks, and the tools that it runs itself. */
export interface Task {
  readonly gateway: GatewayClients;
  readonly model: string;
  readonly isStreamed: boolean;
  /** Units of a depot, as a program asks for them. */
  readonly depot: (id: number) => { readonly n: number };
  /** What the model itself asks for. */
  readonly stock: (id: number) => string;
}

/** A client that does a task: what its user sends, answers and gets. Gives the last text. */
export type Client = (task: Task) => Promise<string>;

export const QUESTION = "How many units do the depots have together?";
export const DEPOT = "Units of a depot.";
export const STOCK = "What a depot has.";
export const INPUT = {
  type: "object" as const,
  properties: { id: { type: "number" } },
  required: ["id"],
  additionalProperties: false,
};
export const API_KEY = "con-0123456789abcdef";

/** The most requests that a task may take. */
export const MOST_REQUESTS = 8;

/** The answer to a call of any of the tools, as a text. */
export function answerTo({ depot, stock }: Task, name: string, input: unknown): string {
  const { id } = input as { readonly id: number };
  return name === "depot" ? JSON.stringify(depot(id)) : stock(id);
}

/** A program that asks for two depots at once, and then for a third. */
export const PROGRAM = `const [a, b] = await Promise.all([tools.depot({ id: 1 }), tools.depot({ id: 2 })]);
const c = await tools.depot({ id: 3 });
return a.n + b.n + c.n;`;
