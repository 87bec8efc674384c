import { expect, test } from "vitest";
import { PortcullisError } from "../../../src/index.ts";
import { questionText, waitingPrograms } from "../../../src/frameworks/approval/waiting-programs.ts";

const about = { callId: "1", tool: "db.run", inputDigest: "", hold: 1, why: "approval", since: 0 } as const;

test("a question of a loop has the inputs of its calls whole, since a person sees nothing else of them", () => {
  const sql = `${"SELECT 1; ".repeat(3000)}DROP TABLE orders; ${"SELECT 1; ".repeat(3000)}`;
  expect(questionText([{ ...about, input: { sql } }])).toContain(JSON.stringify({ sql }));
  const longer = questionText([{ ...about, input: { sql: sql.repeat(3) } }]);
  expect(longer).toMatch(/characters left out/);
  expect(longer.length).toBeLessThan(5000);
});

test.each([
  ["", undefined, 1],
  ["with decisions, and once more without them", { 1: { allow: true } }, 2],
] as const)("what others have decided first is read once %s", async (_, decisions, times) => {
  let asked = 0;
  const resume = async () => {
    asked += 1;
    throw new PortcullisError(asked < 5 ? "call_unknown" : "busy", "x");
  };
  const host = { resume, execute: resume, records: async () => [], approval: resume };
  const programs = waitingPrograms({ host, context: undefined, by: "a loop", conversation: "c" });
  await expect(programs.goOn("e", { rule: () => "ask" }, decisions)).rejects.toThrow();
  expect(asked).toBe(times);
});
