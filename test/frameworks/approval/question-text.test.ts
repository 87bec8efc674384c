import { expect, test } from "vitest";
import { questionText } from "../../../src/frameworks/approval/waiting-programs.ts";

const about = { callId: "1", tool: "db.run", inputDigest: "", hold: 1, why: "approval", since: 0 } as const;

test("a question of a loop has the inputs of its calls whole, since a person sees nothing else of them", () => {
  const sql = `${"SELECT 1; ".repeat(3000)}DROP TABLE orders; ${"SELECT 1; ".repeat(3000)}`;
  expect(questionText([{ ...about, input: { sql } }])).toContain(JSON.stringify({ sql }));
  const longer = questionText([{ ...about, input: { sql: sql.repeat(3) } }]);
  expect(longer).toMatch(/characters left out/);
  expect(longer.length).toBeLessThan(5000);
});
