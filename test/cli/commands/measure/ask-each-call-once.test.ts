import { expect, test } from "vitest";
import { askEachCallOnce } from "../../../../src/cli/commands/measure/bench.ts";
import type { ApprovalRequest } from "../../../../src/index.ts";

const request = (tool: string, inputDigest: string, signal = new AbortController().signal): ApprovalRequest => ({
  execution: "e",
  tenant: "default",
  context: undefined,
  callId: "1",
  tool,
  caller: "direct",
  effect: "write",
  source: undefined,
  description: "Pays",
  input: {},
  grantsLeft: 10,
  inputDigest,
  signal,
});

test("a call of the same tool with the same input is asked about once, also while the question is open", async () => {
  const asked: string[] = [];
  const approve = askEachCallOnce(({ tool, inputDigest }) => {
    asked.push(`${tool} ${inputDigest}`);
    return Promise.resolve(tool === "pay");
  });
  const calls = [request("pay", "1"), request("pay", "1"), request("pay", "2"), request("buy", "1")];
  expect(await Promise.all(calls.map(async (call) => approve(call)))).toEqual([true, true, true, false]);
  expect(await approve(request("buy", "1"))).toBe(false);
  expect(asked).toEqual(["pay 1", "pay 2", "buy 1"]);
});

test("a question that was withdrawn is asked again", async () => {
  let times = 0;
  const approve = askEachCallOnce(() => (times += 1) > 1);
  await approve(request("pay", "1", AbortSignal.abort()));
  expect(await approve(request("pay", "1"))).toBe(true);
});
