import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { ScriptedTurn } from "../../src/runtime/testing.ts";
import { makeTool } from "../gate/open-session.ts";
import { checkTranscript, talk } from "./talk.ts";
import { runs } from "../support/all-tests.ts";
import { throws } from "../support/failing.ts";

const tools = () => [
  makeTool({ name: "read", allowedCallers: ["direct", "programmatic"] }),
  makeTool({ name: "write", allowedCallers: ["direct"], effect: "write" }),
  makeTool({ name: "hidden", allowedCallers: ["programmatic"] }),
  makeTool({ name: "paid", allowedCallers: ["direct"], approval: "always" }),
  makeTool({
    name: "broken",
    allowedCallers: ["direct"],
    execute: throws("no"),
  }),
];

const call = fc.record(
  {
    id: fc.constantFrom("a", "b", "__proto__", "", "x".repeat(300), "ü"),
    tool: fc.constantFrom("read", "write", "hidden", "paid", "broken", "absent", "__proto__", "constructor"),
    caller: fc.constantFrom("direct" as const, "programmatic" as const, "unknown" as const),
    inputText: fc.constantFrom("{}", "{", "[]", "null", '{"__proto__":1}', "", '"', "9".repeat(400)),
  },
  { requiredKeys: ["tool"] },
);
const turn: fc.Arbitrary<ScriptedTurn> = fc.record(
  {
    text: fc.string(),
    calls: fc.array(call, { maxLength: 6 }),
    programs: fc.array(fc.constantFrom("return 1", "return (", "throw new Error('no')", "await tools.absent({})"), {
      maxLength: 2,
    }),
  },
  { requiredKeys: [] },
);

test("whatever a model calls, each call is answered once by its own id, and the transcript is consistent", async () => {
  const options = fc.record({
    programs: fc.constantFrom("local" as const, "hosted" as const, "none" as const),
    loop: fc.record({ maxTurns: fc.integer({ min: 1, max: 5 }) }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(turn, { maxLength: 5 }), options, async (script, chosen) => {
      const talked = await talk(script, { tools: tools(), approve: () => false, ...chosen });
      const moments = talked.model.conversations[0] ?? [];
      for (const [index, { turn, results }] of talked.transcript.turns.entries()) {
        expect(results.map(({ callId }) => callId)).toEqual(turn.calls.map(({ id }) => id));
        const next = moments[index + 1];
        if (next) expect(next.results).toEqual(results);
      }
      const saved = JSON.parse(JSON.stringify(talked.transcript)) as typeof talked.transcript;
      expect(() => checkTranscript(saved)).not.toThrow();
      expect(saved.ending).toEqual(talked.ending);
      const decided = talked.records.filter((record) => record.type === "call" && record.decision === "allowed");
      expect(
        decided.every(
          (record) => record.type === "call" && ["read", "write", "hidden", "broken"].includes(record.tool),
        ),
      ).toBe(true);
    }),
    { numRuns: runs(100) },
  );
});
