import type { ScriptedTurn } from "../../src/runtime/testing.ts";

/** A turn of a model that is asked, and answers when it is told to. */
export function slowTurn() {
  const [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const turn = async (): Promise<ScriptedTurn> => {
    asked.resolve();
    await answered.promise;
    return { text: "slow" };
  };
  return { turn, asked: asked.promise, answer: answered.resolve };
}
