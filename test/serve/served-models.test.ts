import { scriptedModel } from "portcullis/testing";
import { expect, test } from "vitest";
import { ServedModels } from "../../src/serve/served-models.ts";

const one = scriptedModel([], { name: "scripted:one" });
const two = scriptedModel([], { name: "scripted:two" });
const other = scriptedModel([], { name: "scripted:other" });
const bounds = { maxTurns: 5, maxTokens: 1000 };
const conversation = (model: string) => ({ execution: "chat", tenant: "acme", model, task: "" });

test("clients choose among the listed models alone, and get the first by default", () => {
  const served = new ServedModels({ model: [one, two], models: () => other, ...bounds });
  expect(served.offer).toEqual({ models: ["scripted:one", "scripted:two"], ...bounds });
  expect([served.choose(undefined), served.choose("scripted:two")]).toEqual([one, two]);
  for (const name of ["scripted:other", "constructor", ""])
    expect(() => served.choose(name)).toThrow("scripted:one, scripted:two");
});

test("a server without a model says so, and continues what another function has a model for", () => {
  const served = new ServedModels({
    model: undefined,
    models: ({ model }) => (model === other.name ? other : undefined),
    ...bounds,
  });
  expect(served.offer.models).toEqual([]);
  expect(() => served.choose(undefined)).toThrow("no model");
  expect(served.continuing(conversation(other.name))).toBe(other);
  expect(() => served.continuing(conversation(one.name))).toThrow("no model scripted:one");
});

test("a conversation may take no more than the operator allows", () => {
  const served = new ServedModels({ model: one, models: undefined, ...bounds });
  served.refuseAbove({ maxTurns: 5, maxTokens: 1000 });
  served.refuseAbove({});
  expect(() => served.refuseAbove({ maxTurns: 6 })).toThrow("body.maxTurns: at most 5");
  expect(() => served.refuseAbove({ maxTokens: 1001 })).toThrow("body.maxTokens: at most 1000");
});
