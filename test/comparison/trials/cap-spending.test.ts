import { describe, expect, test } from "vitest";
import { capSpending } from "../../../src/comparison/trials/cap-spending.ts";
import { scriptedModel } from "../../../src/testing.ts";
import { declared, OPENING, requested, resultOf, turnOf } from "../../models/converse.ts";
import { serve } from "../../models/wire.ts";
import { WIRES } from "../../models/wires.ts";

const PRICE = { input: 1, output: 5, cacheWrite: 1, cacheRead: 0.1, source: "made up" };

describe.each(WIRES)("a model of %s whose spending is capped", (_, wire) => {
  test("can be taken up and given other tools, as without the cap", async () => {
    await using served = await serve(wire, [{ calls: [{ tool: "f", input: { k: 1 } }] }, { text: "1" }], {
      redeclares: true,
    });
    const capped = () => capSpending(served.model({}), PRICE, 100).model.converse(OPENING);
    const first = await capped();
    first.say("Do it.");
    const turn = turnOf(await first.turn(requested()));
    const other = await capped();
    other.say("Do it.");
    other.restore?.(turn, first.opaque);
    other.answer(turn.calls.map(({ id }) => resultOf(id)));
    other.declare?.({ tools: [declared("g")] });
    expect(await other.turn(requested())).toMatchObject({ type: "turn", text: "1" });
    expect(served.refusals).toEqual([]);
  });
});

test("what a capped model is given when it is taken up counts as read", async () => {
  const paid = capSpending(scriptedModel([{ text: "1" }, { text: "2" }]), { ...PRICE, input: 1000 }, 100);
  const conversation = await paid.model.converse(OPENING);
  const turn = turnOf(await (await scriptedModel([{ text: "1" }]).converse(OPENING)).turn(requested()));
  conversation.restore?.(turn, "x".repeat(200_000));
  expect(await conversation.turn(requested())).toEqual({ type: "aborted" });
  expect(paid.isSpent()).toBe(true);
});

test("a capped model without a way to be taken up has none", async () => {
  const inner = scriptedModel([]);
  const without = {
    ...inner,
    converse: async () => ({ say: () => {}, answer: () => {}, turn: async () => ({ type: "aborted" as const }) }),
  };
  expect(await capSpending(without, PRICE, 1).model.converse(OPENING)).not.toHaveProperty("restore");
});
