import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, vi } from "vitest";
import { openPage } from "../../src/cli/terminal/open-page.ts";
import { useBrowser, withBrowser } from "./browser.ts";
import { startPage, TOKEN } from "./start-page.ts";

const { open } = useBrowser();

withBrowser("the file that a browser is given leads it to the page, which has the token and shows none", async () => {
  const folder = mkdtempSync(join(tmpdir(), "portcullis-"));
  const told = join(folder, "told");
  const opener = process.platform === "darwin" ? "open" : "xdg-open";
  writeFileSync(join(folder, opener), `#!/bin/sh\nprintf '%s' "$*" > ${told}.part && mv ${told}.part ${told}\n`);
  chmodSync(join(folder, opener), 0o755);
  vi.stubEnv("PATH", `${folder}:${process.env["PATH"] ?? ""}`);
  vi.stubEnv("HOME", folder);
  try {
    await using one = await startPage(open);
    await one.runtime.execute("return 1", { execution: "e1" });
    using _ = openPage(one.url, "--open");
    await expect.poll(() => existsSync(told)).toBe(true);
    const { page } = await open(readFileSync(told, "utf8"));
    await page.waitForSelector('[data-execution="e1"]');
    expect(page.url()).toBe(`${one.server.url}/#/`);
    expect(page.url()).not.toContain(TOKEN);
  } finally {
    vi.unstubAllEnvs();
    rmSync(folder, { recursive: true });
  }
});
