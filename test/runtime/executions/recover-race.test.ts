import { expect, test } from "vitest";
import { type Runtime } from "../../../src/index.ts";
import { createMemoryJournal, type Journal } from "../../../src/journal/index.ts";
import type { Model } from "../../../src/models/index.ts";
import { scriptedModel } from "../../../src/runtime/testing.ts";
import { makeTool, runtimeWith } from "../../support/index.ts";

interface Kind {
  readonly begin: (runtime: Runtime, model: Model) => Promise<unknown>;
  readonly goOn: (runtime: Runtime, model: Model) => Promise<unknown>;
  readonly end: object;
}

const KINDS: Readonly<Record<string, Kind>> = {
  program: {
    begin: (runtime) => runtime.execute("return await tools.slow({})", { id: "one" }),
    goOn: (runtime) => runtime.execution("one").resume(),
    end: { outcome: { type: "completed", value: "done" } },
  },
  conversation: {
    begin: (runtime, model) => runtime.agent({ model, task: "Do it.", id: "one" }),
    goOn: (runtime, model) => runtime.execution("one").resume({ model }),
    end: { ending: { type: "answered" }, answer: "done" },
  },
};

/** Work whose first attempt never ends; the second one ends when it is told to. */
function slowWork() {
  const begun = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
  const { promise, resolve: finish } = Promise.withResolvers<string>();
  let attempts = 0;
  const work = () => {
    begun[attempts]?.resolve();
    attempts += 1;
    return attempts === 1 ? new Promise<never>(() => {}) : promise;
  };
  return { work, begun: begun.map((one) => one.promise), finish };
}

test.each(Object.entries(KINDS))(
  "a recovery leaves a %s to the runtime of its process that takes it up first, and does not wait for it",
  async (_, { begin, goOn, end }) => {
    const { work, begun, finish } = slowWork();
    const slow = makeTool({ name: "slow", execute: work });
    const step = async () => ({ text: await work() });
    const model = scriptedModel([step]);
    const store = createMemoryJournal();
    const [reading, taken] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let isHeld = false;
    const journal: Journal = {
      ...store,
      async *read(execution, options) {
        if (isHeld) {
          isHeld = false;
          reading.resolve();
          await taken.promise;
        }
        yield* store.read(execution, options);
      },
    };
    const open = () => runtimeWith([slow], { journal });
    const first = await open();
    const left = expect(begin(first, model)).rejects.toMatchObject({ code: "runtime_suspended" });
    await begun[0];
    await first.suspend();
    await left;

    await using runtime = await open();
    await using other = await open();
    isHeld = true;
    const recovering = Array.fromAsync(runtime.recover({ model: () => model }));
    await reading.promise;
    const going = goOn(other, model);
    await begun[1];
    taken.resolve();
    expect(await recovering).toEqual([]);
    finish("done");
    expect(await going).toMatchObject(end);
  },
);
