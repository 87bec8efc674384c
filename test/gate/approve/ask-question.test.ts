import { hash } from "node:crypto";
import { expect, test, vi } from "vitest";
import { type ApprovalRequest, type RuntimeOptions } from "../../../src/index.ts";
import { makeTool, runtimeWith } from "../../support/index.ts";

const QUESTION = { sure: true };

/** A tool that asks before it answers, and says what it was told. */
const careful = makeTool({
  name: "careful",
  execute: async (_input, { ask, resultBytes }) => [await ask(QUESTION), resultBytes],
});

async function asked(options: Omit<RuntimeOptions, "tools" | "sandbox">): Promise<unknown> {
  await using runtime = await runtimeWith([careful], options);
  const { outcome } = await runtime.execute("return (await tools.careful({}))[0]");
  return outcome.type === "completed" ? outcome.value : outcome;
}

test("a handler's question goes to approve, with the call that it belongs to", async () => {
  const requests: ApprovalRequest[] = [];
  const approve = (request: ApprovalRequest) => {
    requests.push(request);
    return { allow: true, by: "ann", fields: { name: "Ada" } };
  };
  expect(await asked({ approve, tenant: "acme" })).toEqual({ fields: { name: "Ada" } });
  expect(requests).toMatchObject([
    {
      tool: "careful",
      callId: "1",
      tenant: "acme",
      input: QUESTION,
      inputDigest: hash("sha256", JSON.stringify(QUESTION)),
    },
  ]);
});

test("what an approver gives beside the decision must be fields, and is none of a call's own", async () => {
  expect(await asked({ approve: () => true })).toEqual({ fields: {} });
  const odd = () => ({ allow: true, fields: ["x"] as never });
  expect(await asked({ approve: odd })).toEqual({ fields: {} });
});

test("it is denied without an approver, and where the approver says no", async () => {
  expect(await asked({})).toBe(false);
  expect(await asked({ approve: () => false })).toBe(false);
});

test("an approver that fails, or leaves it for later, denies it, and the operator is told why", async () => {
  const approvers = [() => Promise.reject(new Error("offline")), () => "later" as const];
  for (const approve of approvers) {
    const error = vi.fn();
    expect(await asked({ approve, logger: { error } })).toBe(false);
    expect(error).toHaveBeenCalledTimes(1);
  }
});

test("a question after the call has ended is denied, and goes to no approver", async () => {
  const approve = vi.fn(() => true);
  let late: () => unknown = () => "not asked";
  const asksLate = makeTool({
    name: "late",
    execute: (_input, { ask }) => {
      late = () => ask(QUESTION);
      return 1;
    },
  });
  await using runtime = await runtimeWith([asksLate], { approve });
  await runtime.execute("return tools.late({})");
  expect(await late()).toBe(false);
  expect(approve).not.toHaveBeenCalled();
});

test("a handler knows how many bytes its result may have", async () => {
  await using runtime = await runtimeWith([careful], { limits: { resultBytes: 4321 } });
  const { outcome } = await runtime.execute("return (await tools.careful({}))[1]");
  expect(outcome).toMatchObject({ value: 4321 });
});
