import { expect, test } from "vitest";
import { scriptedModel } from "../../../src/runtime/testing.ts";
import { makeTool, runtimeWith } from "../../support/index.ts";

test("who waits for a program or a conversation is told what its status tells, once that goes on no more", async () => {
  const held = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  const hold = makeTool({
    name: "hold",
    execute: async () => {
      reached.resolve();
      await held.promise;
      return 1;
    },
  });
  await using runtime = await runtimeWith([hold]);
  const model = scriptedModel([{ programs: ["return tools.hold({});"] }, { text: "done" }]);
  const running = [
    runtime.execute("await tools.hold({}); return 2;", { id: "one" }),
    runtime.agent({ model, task: "Work.", id: "talk" }),
  ];
  await reached.promise;
  const waiting = ["one", "talk"].map((id) => runtime.execution(id).wait());
  held.resolve();
  const [program, conversation] = await Promise.all(waiting);
  expect(program?.report?.outcome).toEqual({ type: "completed", value: 2 });
  expect(conversation?.conversation?.ending).toMatchObject({ type: "answered", answer: "done" });
  await Promise.all(running);
  for (const status of [program, conversation])
    expect(await runtime.execution(status?.listed.execution ?? "").status()).toEqual(status);
});
