import { expect, test } from "vitest";
import { Gate } from "../../src/gate/gate.ts";
import { ToolSet } from "../../src/tools/tool-set.ts";
import { holdCalls, idle, makeTool, openSession } from "./open-session.ts";
import { memoryHeld } from "../hostile-support/watch.ts";

/** Most of what the inputs of 50 calls take while they wait. */
const HELD_BYTES = 8_000_000;

test("a tool's queue keeps no input of a session that has closed, nor of a call that was given up", async () => {
  const held = holdCalls();
  const gate = new Gate(new ToolSet([makeTool({ concurrency: 1, execute: held.handler })]));
  const other = openSession({ gate, execution: "other" });
  const running = other.call();
  await held.untilStarted(1);
  const before = memoryHeld().usedBytes;
  for (const ending of ["close", "giveUp"] as const) {
    const { session } = openSession({ gate, execution: ending });
    const answers = Array.from({ length: 50 }, (_, index) =>
      session.call({
        callId: String(index),
        tool: "t",
        caller: "programmatic",
        inputText: JSON.stringify({ text: Buffer.alloc(200_000, 65 + (index % 26)).toString() }),
      }),
    );
    await idle();
    expect(memoryHeld().usedBytes - before).toBeGreaterThan(HELD_BYTES);
    if (ending === "close") session.close();
    else await Promise.all(answers.map((_, index) => session.giveUp(String(index), "given up")));
    await Promise.all(answers);
    answers.length = 0;
    await idle();
    expect(memoryHeld().usedBytes - before).toBeLessThan(HELD_BYTES / 4);
  }
  held.release();
  await running;
});
