import { createRuntime, type Runtime, type RuntimeOptions } from "../../../src/index.ts";
import { createMemoryJournal } from "../../../src/journal/index.ts";
import { createMemorySandbox } from "../../../src/runtime/testing.ts";
import { makeTool } from "../../gate/open-session.ts";

/*
 * What the tests of each loop share. Together they hold src/frameworks/approval/waiting-programs.ts,
 * src/frameworks/approval/pausing-tools.ts and src/frameworks/approval/waiting-programs.ts.
 */

/** Three refunds one after the other, with a word for what came of each. */
export const THREE = `
  const seen = [];
  for (const n of [1, 2, 3]) seen.push(await tools.refund({ n }).catch(({ code }) => code));
  return seen;
`;
/** Three refunds at once. */
export const AT_ONCE = `return Promise.all([1, 2, 3].map((n) => tools.refund({ n }).catch(({ code }) => code)));`;

export const journalOf = () => createMemoryJournal();

/** A runtime with a tool `refund`, and what was paid with it. */
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
  return { runtime, paid, [Symbol.asyncDispose]: () => runtime[Symbol.asyncDispose]() };
}

/** What the journal holds of decisions about calls, over all executions: who decided, and how. */
export async function decisionsOf(runtime: Runtime): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const { execution: id } of runtime.executions.list())
    for (const record of await runtime.execution(id).records())
      if (record.type === "decision") found.push([record.call, record.allow, record.by]);
  return found;
}
