import { expect, test } from "vitest";
import { z } from "zod";
import { createRuntime } from "../../src/index.ts";
import { createMemorySandbox, scriptedModel } from "../../src/runtime/testing.ts";
import { echo } from "../support/tools.ts";

test("a schema of an answer that never ends is left when the conversation is cancelled", async () => {
  await using runtime = await createRuntime({ tools: [echo], sandbox: createMemorySandbox() });
  const controller = new AbortController();
  const { signal } = controller;
  const answer = z.number().refine(() => {
    queueMicrotask(() => controller.abort());
    return new Promise<boolean>(() => {});
  });
  const { ending } = await runtime.agent({ model: scriptedModel([{ text: "1" }]), task: "t", signal, answer });
  expect(ending).toMatchObject({ type: "cancelled" });
});
