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

const UNIT = "ExecStart";
const RUN = "docker run";

test.each([
  ["ini", UNIT, [/^KillMode=mixed$/m, /^NoNewPrivileges=yes$/m, /--keys \/etc\/portcullis\/keys\.json /]],
  [
    "shell",
    RUN,
    [/--init/, /--read-only/, /--cap-drop ALL/, /--security-opt no-new-privileges/, /--volume \S+:\/data /],
  ],
  ["shell", RUN, [/--mount type=bind,source=\S+,target=([^,\s]+),readonly[^]*--keys \1\/keys\.json /]],
  ["shell", "docker build", [/node_modules\/portcullis\/docs\/serve\.Dockerfile/]],
  [
    "nginx",
    "proxy_pass",
    [/proxy_pass http:\/\/127.0.0.1:7332;/, /proxy_buffering off;/, /proxy_set_header Host \$host;/],
  ],
  ["caddyfile", "reverse_proxy", [/flush_interval -1/]],
] as const)(
  "the block of %s with %s has the rights, the keys and the header that the server needs",
  (language, part, all) => {
    for (const pattern of all) expect(blockWith(language, part)).toMatch(pattern);
  },
);

test("the service and the container have time to end, and the proxies pass bodies as large as the server takes", () => {
  const unit = blockWith("ini", UNIT);
  const [, drain = ""] = /--drain (\d+)/.exec(unit) ?? [];
  const [, stop = ""] = /^TimeoutStopSec=(\d+)$/m.exec(unit) ?? [];
  expect(Number(stop)).toBeGreaterThan(Number(drain) + 5);
  // V8 compiles, the memory of engines is read in /proc, and a changed file of keys is read again.
  expect(unit).not.toMatch(/MemoryDenyWriteExecute|ProcSubset|LoadCredential/);
  expect(Number(/--stop-timeout (\d+)/.exec(blockWith("shell", RUN))?.[1])).toBeGreaterThan(35);
  const mebibytes = SERVER_RULES.maxBodyBytes.default / 1024 / 1024;
  expect(blockWith("nginx", "proxy_pass")).toContain(`client_max_body_size ${mebibytes}m;`);
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
