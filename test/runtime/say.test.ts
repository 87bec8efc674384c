import { scriptedModel } from "portcullis/testing";
import { expect, test } from "vitest";
import { failing, runtimeWith, slowTurn } from "../support/index.ts";

const model = scriptedModel([{ text: "so" }]);

test("`say` refuses wrong options, ids and messages before anything begins", async () => {
  await using runtime = await runtimeWith([]);
  const refused = (promise: Promise<unknown>) => expect(promise).rejects.toMatchObject({ code: "option_invalid" });
  expect(() => runtime.execution("")).toThrow("execution(id): expected an id");
  await refused(runtime.execution("chat").send("  ", { model }));
  await refused(runtime.execution("chat").send([], { model }));
  await refused(runtime.execution("chat").send("x", { model, expect: -1 }));
  await refused(runtime.execution("chat").send("x", { model, tools: ["none"] }));
  await refused(runtime.execution("chat").send("x", { model, task: "x" } as object as { model: typeof model }));
  await expect(runtime.execution("chat").status()).rejects.toMatchObject({ code: "execution_unknown" });
});

test("`say` takes a place of the runtime, and is refused with `busy` before anything begins", async () => {
  await using runtime = await runtimeWith([], { executions: { concurrency: 1, queued: 0 } });
  const { turn, asked, answer } = slowTurn();
  const first = runtime.execution("one").send("x", { model: scriptedModel([turn]) });
  await asked;
  await expect(runtime.execution("two").send("x", { model })).rejects.toMatchObject({ code: "busy" });
  await expect(runtime.execution("two").status()).rejects.toMatchObject({ code: "execution_unknown" });
  answer();
  expect((await first).answer).toBe("slow");
  expect((await runtime.execution("two").send("x", { model })).answer).toBe("so");
});

test("conversations whose histories have no room beside each other are refused with `busy`, and go on once one has ended", async () => {
  await using runtime = await runtimeWith([], { heldBytes: 8 * 2 ** 20 });
  const long = "x".repeat(2 ** 20);
  const { turn, asked, answer } = slowTurn();
  const model = scriptedModel([{ text: "so" }, turn, { text: "and" }]);
  for (const id of ["one", "two"]) await runtime.execution(id).send(long, { model });
  const first = runtime.execution("one").send(long, { model });
  await asked;
  const refused = runtime.execution("two").send("more", { model });
  await expect(refused).rejects.toMatchObject(failing("busy", '"two" needs'));
  // The same message again is held by its driver, and leaves room for others.
  const again = Array.from({ length: 3 }, () => runtime.execution("one").send(long, { model, expect: 1 }));
  expect((await runtime.execute("return 'x'.repeat(100_000).length")).outcome.type).toBe("completed");
  answer();
  await Promise.all([first, ...again]);
  await runtime.execution("two").send("more", { model });
  expect((await runtime.execution("two").status()).conversation).toMatchObject({ said: 2 });
});
