import { expect, test } from "vitest";
import { callSpans } from "../../../src/gate/telemetry/call-span.ts";
import type { Contents } from "../../../src/gate/telemetry/contents.ts";
import { WITHOUT_SDK } from "../../../src/gate/telemetry/otel.ts";
import { collectGarbage } from "../../support/collect-garbage.ts";

test("calls whose results are redacted leave nothing behind once their spans have ended", async () => {
  const span = { isRecording: () => true, setAttributes: () => {}, end: () => {} };
  const trace = { getTracer: () => ({ startSpan: () => span }), setSpan: (parent: unknown) => parent };
  const spans = callSpans(
    {
      otel: { ...WITHOUT_SDK, trace } as never,
      figures: { note: () => {} },
      contents: { has: () => true, json: async () => "redacted" } as unknown as Contents,
    },
    undefined as never,
  );
  const heldAfter = async (calls: number) => {
    for (let call = 0; call < calls; call += 1)
      spans
        .begin({ callId: "1", tool: "a", caller: "direct", isClients: false })
        .end({ outcome: "value", bytes: 0, text: "1" });
    await spans.settled();
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  const before = await heldAfter(100);
  expect((await heldAfter(30_000)) - before).toBeLessThan(1_000_000);
});
