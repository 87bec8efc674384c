import { test } from "vitest";
import { makeTool, openSession, type SessionParts } from "./open-session.ts";
import { holdSentences } from "../support/sentences.ts";
import { FAILED, REFUSED, send } from "./ways.ts";

/** What the operator reads of a call whose approval, policy or result is at fault. */
const toldOf = (parts: SessionParts) => async () => {
  const { call, events } = openSession({ tools: [makeTool({ approval: "always" })], ...parts });
  await call();
  return events.flatMap((event) => ("error" in event ? [event.error] : [])).at(-1) as Error;
};
const fails = () => Promise.reject(new Error("the reason"));

test("each refusal and each failure of a call has a code and one sentence, and so has what its operator reads", () =>
  holdSentences([
    ...[...REFUSED, ...FAILED].map(
      ([, way]) =>
        async () =>
          (await send(way)).answer,
    ),
    async () =>
      (await send({ tool: { approval: "always" }, approve: () => ({ allow: false, note: 'No.\n"' }) })).answer,
    ...[fails, () => undefined as never].flatMap((gives) => [
      toldOf({ approve: gives }),
      toldOf({ policies: [gives] }),
    ]),
    toldOf({ tools: [makeTool({ approval: fails })] }),
    toldOf({}),
    toldOf({ tools: [makeTool({ outputSchema: makeTool().inputSchema, execute: () => "1" })] }),
  ]));
