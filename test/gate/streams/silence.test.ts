import { beforeEach, expect, test, vi } from "vitest";
import { OpenCall } from "../../../src/gate/open-call.ts";
import { Silence } from "../../../src/gate/streams/silence.ts";
import { type ManualClock, manualClock } from "../../support/clock.ts";
import { makeTool } from "../open-session.ts";

let clock: ManualClock;
beforeEach(() => {
  clock = manualClock();
});

function listening() {
  const request = { callId: "1", tool: "t", caller: "programmatic", inputText: "{}" } as const;
  const call = new OpenCall(makeTool({ timeoutMs: 100 }), request);
  const onSilent = vi.fn();
  const silence = new Silence(call, onSilent);
  silence.listen();
  return { call, onSilent, silence };
}

test("a handler that gives nothing for its tool's time is silent, counted from when it was asked last", () => {
  const { onSilent, silence } = listening();
  clock.pass(90);
  silence.listen();
  clock.pass(99);
  expect(onSilent).not.toHaveBeenCalled();
  clock.pass(1);
  expect(onSilent).toHaveBeenCalledOnce();
});

test("the time in which approvals alone were waited for is no silence", () => {
  const { call, onSilent } = listening();
  const approvalMs = vi.spyOn(call, "approvalMs", "get").mockReturnValue(50);
  clock.pass(100);
  expect(onSilent).not.toHaveBeenCalled();
  clock.pass(100);
  expect(onSilent).toHaveBeenCalledOnce();
  expect(approvalMs).toHaveBeenCalled();
});

test("after its end nothing is silent, and no timer is left", () => {
  const { onSilent, silence } = listening();
  silence.end();
  silence.listen();
  expect(clock.timers).toBe(0);
  clock.pass(1000);
  expect(onSilent).not.toHaveBeenCalled();
});
