import { expect, test, vi } from "vitest";
import { makeTool, openSession } from "../open-session.ts";

test("a policy that allows does not loosen the tool's own rule, and one that denies comes before any approval", async () => {
  const approve = vi.fn(() => false);
  const tools = [makeTool({ approval: "always" })];
  const { call } = openSession({ tools, approve, policies: [() => "allow"] });
  expect(await call()).toMatchObject({ code: "approval_denied" });
  const strict = openSession({ tools, approve, policies: [() => "allow", () => ({ deny: "no" }), "ask-all"] });
  expect(await strict.call()).toMatchObject({ code: "policy_denied" });
  expect(approve).toHaveBeenCalledTimes(1);
});

test("a remembered approval does not hold against a policy that denies", async () => {
  let denies = false;
  const { call } = openSession({
    policies: [() => (denies ? { deny: "enough" } : "ask")],
    approve: () => ({ allow: true, remember: "execution" }),
  });
  expect(await call()).toMatchObject({ ok: true });
  denies = true;
  expect(await call()).toMatchObject({ code: "policy_denied" });
});

test("what is recorded is not asked again: an allowed call, a held one, and one that was refused", async () => {
  const policy = vi.fn(() => ({ deny: "changed since" }));
  const open = () => openSession({ policies: [policy], approve: () => true });
  const record = { type: "call", call: "1", tool: "t", caller: "programmatic", at: 1 } as const;
  expect(await open().call({}, {}, { decided: { ...record, decision: "allowed" } })).toMatchObject({ ok: true });
  expect(await open().call({}, {}, { decided: { ...record, decision: "held" } })).toMatchObject({ ok: true });
  const refused = { ...record, decision: "refused", code: "policy_denied", policy: "not then" } as const;
  const { call, records } = open();
  expect(await call({}, {}, { decided: refused })).toMatchObject({
    code: "policy_denied",
    message: expect.stringContaining('"not then"') as string,
  });
  expect(records).toMatchObject([{ decision: "refused", policy: "not then" }]);
  expect(policy).not.toHaveBeenCalled();
});

test("the runtime's own tools are not asked about: a search calls nothing outside", async () => {
  const policy = vi.fn(() => ({ deny: "no" }));
  const { call } = openSession({ policies: [policy] });
  expect(await call({ query: "t" }, { tool: "search_tools" })).toMatchObject({ ok: true });
  expect(policy).not.toHaveBeenCalled();
});
