import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { posix } from "node:path";
import { expect, test } from "vitest";
import { portcullis, root } from "./command.ts";

const filesIn = (folder: string) =>
  readdirSync(posix.join(root, folder), { recursive: true, encoding: "utf8" }).map((file) => posix.join(folder, file));
const read = (file: string) => readFileSync(posix.join(root, file), "utf8");
const { files } = JSON.parse(read("package.json")) as { readonly files: readonly string[] };
/** A pattern that begins with ! leaves out a file of a folder. npm adds the last three by itself. */
const shipped = [...files.filter((file) => !file.startsWith("!")), "README.md", "LICENSE", "package.json"];
const documents = shipped
  .filter((file) => file !== "dist")
  .flatMap((file) => (statSync(posix.join(root, file)).isDirectory() ? filesIn(file) : [file]))
  .filter((file) => file.endsWith(".md"));
const isShipped = (path: string) => shipped.some((file) => path === file || path.startsWith(`${file}/`));

test("every link of a document in the package leads to what is in the package", () => {
  const links = documents.flatMap((document) =>
    [...read(document).matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)].map(([, target = ""]) =>
      posix.join(posix.dirname(document), target),
    ),
  );
  expect(links.length).toBeGreaterThan(0);
  expect(links.filter((path) => !isShipped(path))).toEqual([]);
});

interface Locked {
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  /** Of a workspace, which no tarball has. */
  readonly link?: boolean;
}

/** What npm installs with the package: everything of the lock file that is neither for development nor optional for peers. */
const installed = Object.entries(
  (JSON.parse(read("package-lock.json")) as { readonly packages: Readonly<Record<string, Locked>> }).packages,
).flatMap(([path, { dev, devOptional, link }]) =>
  dev || devOptional || link || !path.startsWith("node_modules/") ? [] : path,
);

/** Space that a folder takes on a disk with blocks of 4 KiB. */
const bytesOnDisk = (folder: string): number =>
  filesIn(folder).reduce((sum, file) => sum + Math.ceil(statSync(posix.join(root, file)).size / 4096) * 4096, 4096);

test("an install brings these packages and no other, of less than 40 MB", () => {
  expect(installed.map((path) => path.replace("node_modules/", "")).join(" ")).toBe(
    "@cfworker/json-schema @standard-schema/spec @swc/wasm-typescript acorn commander isolated-vm jsonc-parser leven node-gyp-build p-queue tinyqueue zod",
  );
  const bytes = installed.reduce((sum, path) => sum + bytesOnDisk(path), 0);
  expect(bytes).toBeGreaterThan(20 * 1024 * 1024);
  expect(bytes).toBeLessThan(40 * 1024 * 1024);
});

/** Clients of a server that node does not run: they have a file of tests in test/examples. */
const ELSEWHERE: ReadonlySet<string> = new Set(["http-client"]);
const examples = readdirSync(posix.join(root, "examples"), { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() && !ELSEWHERE.has(entry.name) ? entry.name : [],
);
const commandOf = (name: string) =>
  /^node --conditions=portcullis-source src\/cli\.ts (.+)$/m.exec(read(`examples/${name}/README.md`))?.[1] ?? "";

test.each(examples)("the example %s says how it is run: as a program with its tools, or as a demo", (name) => {
  const [program, tools] = [`examples/${name}/program.js`, `examples/${name}/tools.ts`];
  const isProgram = commandOf(name) === `run ${program} --tools ${tools}`;
  expect(commandOf(name)).toBe(isProgram ? `run ${program} --tools ${tools}` : `demo ${name}`);
  if (isProgram) expect([program, tools].map((file) => existsSync(posix.join(root, file)))).toEqual([true, true]);
});

// What all of them answer: test/examples/answers.test.ts.
test("the command in the example start runs as it stands and answers right", async () => {
  const { stdout } = await portcullis(commandOf("start").split(" "));
  const { answer } = JSON.parse(read("examples/start/task.json")) as { readonly answer: unknown };
  expect(JSON.parse(stdout)).toEqual(answer);
});
