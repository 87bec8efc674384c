import { expect, test } from "vitest";
import { openServer } from "../servers.ts";

test("the page's files need no key, and their policy allows nothing from elsewhere", async () => {
  await using door = await openServer();
  for (const path of ["/", "/page.js", "/page.css", "/icon.svg"]) {
    const { status, headers, text } = await door.ask("GET", path, { key: "" });
    expect(status, path).toBe(200);
    expect(text.length).toBeGreaterThan(0);
    const policy = headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toContain("unsafe");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
  }
  expect((await door.ask("GET", "/", { key: "", headers: { host: "evil.example" } })).status).toBe(421);
  expect((await door.ask("POST", "/")).status).toBe(405);
});
