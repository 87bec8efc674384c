import { expect, onTestFinished } from "vitest";
import { type CallOptions, createRuntime, type Runtime, type RuntimeOptions } from "../../../src/index.ts";
import { createMemoryJournal } from "../../../src/journal/index.ts";
import { createMemorySandbox } from "../../../src/runtime/testing.ts";
import { makeTool } from "../../gate/open-session.ts";

/** Three refunds one after the other, with a word for what came of each. */
export const THREE = `
  const seen = [];
  for (const n of [1, 2, 3]) seen.push(await tools.refund({ n }).catch(({ code }) => code));
  return seen;
`;
/** Three refunds at once. */
export const AT_ONCE = `return Promise.all([1, 2, 3].map((n) => tools.refund({ n }).catch(({ code }) => code)));`;

export const journalOf = () => createMemoryJournal();

/** A runtime with a tool `refund`, until the test has ended, and what was paid with it. */
export async function openRefunds(
  options: Partial<RuntimeOptions> & { readonly approval?: "always" | "never"; readonly execute?: () => unknown } = {},
): Promise<AsyncDisposable & { readonly runtime: Runtime; readonly paid: number[] }> {
  const { approval = "never", execute, ...more } = options;
  const paid: number[] = [];
  const refund = makeTool({
    name: "refund",
    effect: "write",
    allowedCallers: ["direct", "programmatic"],
    approval,
    execute: (input) => {
      const { n } = input as { n: number };
      paid.push(n);
      return execute ? execute() : `paid ${n}`;
    },
  });
  const runtime = await createRuntime({ tools: [refund], sandbox: createMemorySandbox(), ...more });
  onTestFinished(() => runtime[Symbol.asyncDispose]());
  return { runtime, paid, [Symbol.asyncDispose]: () => runtime[Symbol.asyncDispose]() };
}

interface Seen {
  readonly asked: readonly unknown[];
  readonly results: readonly unknown[];
}

type Call = (input: unknown, more?: Partial<CallOptions>) => Promise<string>;

/**
 * Holds that a rule means the same for a call of a program and for one of the model, whose tool calls `refund`: what was
 * paid, how many people were asked, and what was read.
 */
export async function expectSame(
  ofProgram: (runtime: Runtime, code: string) => Promise<Seen>,
  ofModel: (call: Call) => Promise<Seen>,
  [paid, asked, reads]: readonly [paid: number[], asked: number, reads: RegExp],
  { n = 1, approval = "never" }: { readonly n?: number; readonly approval?: "always" | "never" } = {},
): Promise<void> {
  const one = await openRefunds({ approval });
  const code = `try { return await tools.refund({ n: ${n} }); } catch (error) { return error.message; }`;
  const nested = await ofProgram(one.runtime, code);
  const other = await openRefunds({ approval });
  const call: Call = async (input, more) => {
    const called = await other.runtime.call({ tool: "refund", input, caller: "direct", ...more });
    return called.ok && "value" in called ? String(called.value) : "message" in called ? called.message : "";
  };
  const direct = await ofModel(call);
  for (const [done, seen] of [
    [one.paid, nested],
    [other.paid, direct],
  ] as const) {
    expect([done, seen.asked.length]).toEqual([paid, asked]);
    expect(String(seen.results.at(-1))).toMatch(reads);
  }
}

/** What the journal holds of decisions about calls, over all executions: who decided, and how. */
export async function decisionsOf(runtime: Runtime): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const { execution: id } of runtime.executions.list())
    for (const record of await runtime.execution(id).records())
      if (record.type === "decision") found.push([record.call, record.allow, record.by]);
  return found;
}
