import { expect, test } from "vitest";
import { OpenCall } from "../../../src/gate/open-call.ts";
import { OpenStreams } from "../../../src/gate/streams/open-streams.ts";
import { makeTool } from "../open-session.ts";
import { deaf, streamTool } from "./read-stream.ts";

const request = { caller: "programmatic", inputText: "{}", reader: deaf } as const;

test("a stream counts once, among all and among those of its tool, until it is left", () => {
  const streams = new OpenStreams();
  const tool = streamTool(() => []);
  const [one, other] = ["1", "2"].map((callId) => new OpenCall(tool, { ...request, callId, tool: "t" }));
  const plain = new OpenCall(makeTool({ name: "plain" }), { ...request, callId: "3", tool: "plain" });
  for (const call of [one, one, other, plain]) if (call) streams.add(call);
  expect([streams.count, streams.of("t"), streams.of("plain")]).toEqual([2, 2, 0]);
  for (const call of [one, one, plain]) if (call) streams.remove(call);
  expect([streams.count, streams.of("t")]).toEqual([1, 1]);
});
