import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, expect, onTestFinished, test, vi } from "vitest";
import { openPage } from "../../../src/cli/terminal/open-page.ts";

const ADDRESS = "http://127.0.0.1:7332/#token=a-secret";
const folder = mkdtempSync(join(tmpdir(), "portcullis-"));
const told = join(folder, "told");
writeFileSync(join(folder, "xdg-open"), `#!/bin/sh\nprintf '%s' "$*" > ${told}.part && mv ${told}.part ${told}\n`);
chmodSync(join(folder, "xdg-open"), 0o755);
afterAll(() => rmSync(folder, { recursive: true }));
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(told, { force: true });
});

/** What the browser is given in its arguments. */
async function opened(): Promise<string> {
  await expect.poll(() => existsSync(told)).toBe(true);
  return readFileSync(told, "utf8");
}

const ofLinux = process.platform === "linux" ? test : test.skip;

ofLinux(
  "a token is in no argument, but in a file that its owner alone can read, and that is gone afterwards",
  async () => {
    vi.stubEnv("PATH", `${folder}:${process.env["PATH"] ?? ""}`);
    vi.stubEnv("HOME", folder);
    {
      using _ = openPage(ADDRESS, "--open");
      const argument = await opened();
      expect(argument).not.toContain("a-secret");
      const file = fileURLToPath(argument);
      // oxlint-disable-next-line no-bitwise -- the bits of a mode
      expect(statSync(file).mode & 0o777).toBe(0o600);
      expect(readFileSync(file, "utf8")).toContain(`content="0;url=${ADDRESS}"`);
    }
    expect(readdirSync(folder).filter((name) => name.endsWith(".html"))).toEqual([]);
  },
);

ofLinux(
  "an address without a secret is opened as it is, and none is lost where no browser can be started",
  async () => {
    vi.stubEnv("PATH", `${folder}:${process.env["PATH"] ?? ""}`);
    using _ = openPage("http://127.0.0.1:7332/", "--open");
    expect(await opened()).toBe("http://127.0.0.1:7332/");
    const said: string[] = [];
    const write = vi.spyOn(process.stderr, "write").mockImplementation((text) => said.push(String(text)) > 0);
    vi.stubEnv("HOME", join(folder, "no-such-folder"));
    openPage(ADDRESS, "--open");
    write.mockRestore();
    expect(said.join("")).toContain("--open: no browser could be started");
  },
);

ofLinux("a browser that could not be started after all is told, too", async () => {
  const failing = mkdtempSync(join(tmpdir(), "portcullis-"));
  onTestFinished(() => rmSync(failing, { recursive: true }));
  writeFileSync(join(failing, "xdg-open"), "#!/bin/sh\nexit 3\n");
  chmodSync(join(failing, "xdg-open"), 0o755);
  vi.stubEnv("PATH", `${failing}:${process.env["PATH"] ?? ""}`);
  const said: string[] = [];
  const write = vi.spyOn(process.stderr, "write").mockImplementation((text) => said.push(String(text)) > 0);
  onTestFinished(() => write.mockRestore());
  using _ = openPage("http://127.0.0.1:7332/", "--open");
  await expect.poll(() => said.join("")).toContain("xdg-open ended with exit code 3");
});
