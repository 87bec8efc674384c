import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { createRuntime, createSqliteJournal } from "../../src/index.ts";
import { SERVER_RULES } from "../../src/serve/server-options.ts";
import { Metrics } from "../../src/serve/metrics.ts";
import { FIGURES } from "../../src/gate/telemetry/metric-table.ts";
import { prometheusName } from "../../src/gate/telemetry/prometheus.ts";
import { createMemorySandbox } from "../../src/runtime/testing.ts";
import { portcullis } from "../cli/command.ts";
import { newFolder } from "../support/new-folder.ts";

const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");
const document = read("docs/serving.md");
const dockerfile = read("docs/serve.Dockerfile");

const blocks = [...document.matchAll(/^```(\w*)\n([^]*?)^```$/gm)].map(([, language = "", text = ""]) => ({
  language,
  text,
}));
const textsIn = (wanted: string) => blocks.flatMap(({ language, text }) => (language === wanted ? [text] : []));
/** The block of a language in which this stands. */
function blockWith(language: string, part: string): string {
  const found = textsIn(language).find((text) => text.includes(part));
  if (found === undefined) throw new Error(`No block of ${language} in docs/serving.md has ${part}.`);
  return found;
}

/** Options of `serve` in a command. */
const optionsIn = (command: string) => (command.split(/\bserve\s/)[1] ?? "").match(/--[a-z-]+/g) ?? [];

test("the service, the container and the image start the server with options that it has", async () => {
  const { stdout: help } = await portcullis(["serve", "--help"]);
  const [, command = ""] = /^ExecStart=(.+)$/m.exec(blockWith("ini", "ExecStart")) ?? [];
  const [, image = ""] = /^CMD (.+)$/m.exec(dockerfile) ?? [];
  for (const started of [command, blockWith("shell", "docker run"), (JSON.parse(image) as string[]).join(" ")]) {
    expect(optionsIn(started).length).toBeGreaterThan(2);
    for (const option of optionsIn(started)) expect(help).toContain(`${option} `);
  }
  expect(command).toContain("node_modules/portcullis/dist/src/cli.js serve");
  expect(dockerfile).toContain('ENTRYPOINT ["node", "node_modules/portcullis/dist/src/cli.js"]');
});

test("the service leaves the server longer than its drain, and sends the signal to it alone", () => {
  const unit = blockWith("ini", "ExecStart");
  const [, drain = ""] = /--drain (\d+)/.exec(unit) ?? [];
  const [, stop = ""] = /^TimeoutStopSec=(\d+)$/m.exec(unit) ?? [];
  expect(Number(stop)).toBeGreaterThan(Number(drain) + 5);
  expect(unit).toMatch(/^KillMode=mixed$/m);
  expect(unit).toMatch(/^NoNewPrivileges=yes$/m);
  // V8 compiles, and the memory of engines is read in /proc.
  expect(unit).not.toMatch(/MemoryDenyWriteExecute|ProcSubset/);
});

test("the container has no rights, can write its journal alone, and has time to end", () => {
  const run = blockWith("shell", "docker run");
  for (const option of ["--init", "--read-only", "--cap-drop ALL", "--security-opt no-new-privileges"])
    expect(run).toContain(option);
  expect(run).toMatch(/--volume \S+:\/data /);
  expect(Number(/--stop-timeout (\d+)/.exec(run)?.[1])).toBeGreaterThan(35);
  expect(blockWith("shell", "docker build")).toContain("node_modules/portcullis/docs/serve.Dockerfile");
  const { files } = JSON.parse(read("package.json")) as { readonly files: readonly string[] };
  expect(files).toContain("docs");
});

test("the proxies pass events on at once, the host's name, and bodies as large as the server takes", () => {
  const nginx = blockWith("nginx", "proxy_pass");
  expect(nginx).toContain("proxy_pass http://127.0.0.1:7332;");
  expect(nginx).toContain("proxy_buffering off;");
  expect(nginx).toContain("proxy_set_header Host $host;");
  expect(nginx).toContain(`client_max_body_size ${SERVER_RULES.maxBodyBytes.default / 1024 / 1024}m;`);
  expect(blockWith("caddyfile", "reverse_proxy")).toContain("flush_interval -1");
});

test("the commands of the backup make a whole copy of a journal that is in use", async () => {
  const folder = newFolder(onTestFinished);
  using journal = createSqliteJournal({ path: join(folder, "portcullis.db") });
  await using runtime = await createRuntime({ tools: [], journal, sandbox: createMemorySandbox() });
  await runtime.execute("return 1", { id: "one" });
  const [copy = "", check = ""] = blockWith("shell", "VACUUM INTO").trimEnd().split("\n");
  await promisify(execFile)("sh", ["-c", copy.replace(/^node /, `"${process.execPath}" `)], { cwd: folder });
  expect(check).toBe("npx portcullis journal check --journal backup.db");
  const checked = await portcullis(["journal", "check", "--journal", join(folder, "backup.db")]);
  expect(checked.code).toBe(0);
  const { stdout } = await portcullis(["show", "--journal", join(folder, "backup.db")]);
  expect(stdout).toContain("one");
});

test("the table of metrics has those that the server counts", () => {
  const table = document.slice(document.indexOf("<!-- metrics -->"));
  const listed = [...table.matchAll(/^\| `(\w+)`/gm)].map(([, name]) => name);
  using metrics = new Metrics();
  const counted = Object.values(FIGURES).map((figure) => `${prometheusName(figure)}${figure.bounds ? "" : "_total"}`);
  const gauges = [...metrics.text().matchAll(/^# TYPE (\w+) gauge/gm)].map(([, name]) => name);
  expect(new Set(listed)).toEqual(new Set([...counted, ...gauges]));
});

test("a key that is revoked is refused: the service and the container read the file of keys itself", () => {
  const unit = blockWith("ini", "ExecStart");
  expect(unit).toMatch(/--keys \/etc\/portcullis\/keys\.json /);
  expect(unit).not.toMatch(/LoadCredential/);
  const run = blockWith("shell", "docker run");
  const [, target = ""] = /--mount type=bind,source=\S+,target=([^,\s]+),readonly/.exec(run) ?? [];
  expect(run).toContain(`--keys ${target}/keys.json `);
});
