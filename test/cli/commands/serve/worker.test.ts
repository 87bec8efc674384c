import { expect, test } from "vitest";
import { portcullis } from "../../command.ts";

test("a worker is told which journal it needs", async () => {
  const { code, stderr } = await portcullis(["worker", "--journal", "journal.db"]);
  expect(code).toBe(2);
  expect(stderr).toContain("PORTCULLIS_JOURNAL");
  const alone = await portcullis(["worker", "--journal", "postgres://a@b/c", "--host", "0.0.0.0"]);
  expect(alone).toMatchObject({ code: 2, stderr: expect.stringContaining("add --metrics PORT") as string });
  const open = await portcullis(["worker", "--journal", "postgres://a@b/c", "--metrics", "0", "--host", "0.0.0.0"]);
  expect(open).toMatchObject({ code: 2, stderr: expect.stringContaining("add --keys FILE") as string });
  const wrong = await portcullis(["worker", "--journal", "postgres://a@b/c", "--set", "leaseMs=5"]);
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining("--set leaseMs") });
});

test("serve drives elsewhere only with a journal that workers reach", async () => {
  const { code, stderr } = await portcullis(["serve", "--workers", "elsewhere", "--port", "0"]);
  expect(code).toBe(2);
  expect(stderr).toContain("--workers elsewhere");
});
