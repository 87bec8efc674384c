import { existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { portcullis, root } from "../../command.ts";

const folder = mkdtempSync(join(realpathSync(tmpdir()), "portcullis-init-"));
afterAll(() => rmSync(folder, { recursive: true }));
const init = (...args: string[]) => portcullis(["init", ...args], "", { cwd: folder });
const example = (name: string) => readFileSync(join(root, "examples/start", name), "utf8");

test("writes the files of the example, and says in ten lines at most what they are and which commands come next", async () => {
  const { code, stdout, stderr } = await init("my-tools");
  expect([code, stderr]).toEqual([0, ""]);
  const names = readdirSync(join(folder, "my-tools"));
  expect(names.toSorted()).toEqual(["package.json", "program.js", "task.json", "tools.ts", "tsconfig.json"]);
  for (const name of ["tools.ts", "program.js", "task.json"])
    expect(readFileSync(join(folder, "my-tools", name), "utf8")).toBe(example(name));
  expect(stdout.trimEnd().split("\n").length).toBeLessThanOrEqual(10);
  for (const name of names) expect(stdout).toContain(name);
  expect(stdout).toMatch(/^ {2}cd my-tools && npm pack \S+ && npm install {3}#/m);
  expect(stdout).toMatch(/^ {2}npx portcullis run program\.js --tools \.\/tools\.ts {3}#/m);
  expect(stdout).toMatch(/^ {2}npx tsc {3}#/m);
});

test("a second time it writes nothing", async () => {
  const changed = join(folder, "my-tools/program.js");
  writeFileSync(changed, "return 1;");
  const { code, stdout, stderr } = await init("my-tools", "--mcp");
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toMatch(/my-tools is not empty\. .*: portcullis init my-tools\/my-tools\n$/);
  expect(readFileSync(changed, "utf8")).toBe("return 1;");
  expect(existsSync(join(folder, "my-tools/.mcp.json"))).toBe(false);
});

test("--mcp writes the configuration of a client, which names a command of this package, in ten lines still", async () => {
  const { stdout } = await init("served", "--mcp");
  expect(stdout.trimEnd().split("\n").length).toBeLessThanOrEqual(10);
  expect(stdout).toMatch(/^ {2}\.mcp\.json +\S/m);
  const written = JSON.parse(readFileSync(join(folder, "served/.mcp.json"), "utf8")) as {
    readonly mcpServers: { readonly portcullis: { readonly command: string; readonly args: readonly string[] } };
  };
  const { command, args } = written.mcpServers.portcullis;
  expect([command, args.slice(0, 2)]).toEqual(["npx", ["--no", "portcullis"]]);
  // A door whose client has left at once.
  const journal = ["--journal", join(folder, "door.db")];
  const door = await portcullis([...args.slice(2, -2), ...journal], "", { cwd: join(root, "examples/start") });
  expect([args.at(-2), door]).toEqual(["--journal", expect.objectContaining({ code: 0, stderr: "" })]);
  const { dependencies } = JSON.parse(readFileSync(join(folder, "served/package.json"), "utf8")) as {
    readonly dependencies: object;
  };
  expect(Object.keys(dependencies)).toContain("@modelcontextprotocol/server");
});

test("its program gives the answer of its task, by the calls that its README names", async () => {
  const start = join(root, "examples/start");
  const args = ["run", `${start}/program.js`, "--tools", `${start}/tools.ts`, "--json"];
  const report = JSON.parse((await portcullis(args)).stdout) as {
    readonly outcome: { readonly value: unknown };
    readonly usage: { readonly calls: number; readonly bytesIn: number; readonly bytesOut: number };
  };
  const { question, answer } = JSON.parse(example("task.json")) as Readonly<Record<string, unknown>>;
  expect(report.outcome.value).toEqual(answer);
  const { calls, bytesIn, bytesOut } = report.usage;
  const readme = example("README.md").replaceAll(/\s+/g, " ");
  expect(readme).toContain(`> ${String(question)} `);
  expect(readme).toContain(
    `${calls} calls, which return ${Math.round(bytesIn / 1000)} kB, and returns ${bytesOut} bytes`,
  );
});
