import { scriptedModel } from "portcullis/testing";
import { expect, test } from "vitest";
import { servedModels } from "../../src/serve/served-models.ts";

test("a server without a model says so, and continues what another function has a model for", () => {
  const other = scriptedModel([], { name: "scripted:other" });
  const served = servedModels({
    models: ({ model }) => (model === other.name ? other : undefined),
    maxTurns: 5,
    maxTokens: 1000,
  });
  const conversation = (model: string) => ({ execution: "chat", tenant: "acme", model, task: "" });
  expect(served.offer.models).toEqual([]);
  expect(() => served.choose(undefined)).toThrow("no model");
  expect(served.continuing(conversation(other.name))).toBe(other);
  expect(() => served.continuing(conversation("scripted:one"))).toThrow("no model scripted:one");
});
