import { once } from "node:events";
import { expect, test } from "vitest";
import { portcullis, start } from "./command.ts";

test("a demo is shown on a page that stays until Ctrl-C, and ends with the demo's exit code", async () => {
  const { child } = start(["demo", "capital", "--page"]);
  let shown = "";
  for await (const text of child.stdout.setEncoding("utf8")) {
    shown += String(text);
    if (shown.includes("The page stays")) break;
  }
  const [, url = "", token = ""] = /The page: (http:\/\/127\.0\.0\.1:\d+)\/#token=(\S+)/.exec(shown) ?? [];
  expect((await fetch(`${url}/`)).headers.get("content-type")).toContain("text/html");
  const listed = await fetch(`${url}/v1/executions`, { headers: { authorization: `Bearer ${token}` } });
  expect(await listed.json()).toMatchObject({ executions: [{ state: "ended", outcome: "completed" }] });
  child.kill("SIGINT");
  const [code] = (await once(child, "close")) as [number | null];
  expect(code).toBe(0);
});

test("what runs commands of its own is not shown on a page", async () => {
  const { code, stderr } = await portcullis(["demo", "refunds", "--page"]);
  expect(code).toBe(2);
  expect(stderr).toContain("demo: --page shows examples that run here, and refunds runs commands.");
});
