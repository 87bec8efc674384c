import { existsSync, readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const read = (path: string) => readFileSync(posix.join(root, path), "utf8");

// ---- the table -------------------------------------------------------------------------------------------------

interface Room {
  /** How other rows name it: `tools`, `errors`, `bridge/guest`. */
  readonly name: string;
  readonly paths: readonly string[];
  readonly mayImport: ReadonlyMap<string, "all" | "types">;
  /** Package by name, with the folder of the room that it must stay in: up to the next semicolon, all stay in the one that is named. */
  readonly packages: ReadonlyMap<string, string>;
}

const nameOf = (path: string) => path.replace(/^src\//, "").replace(/\/$|\.ts$/, "");

function readRow(row: string): Room {
  const [paths = "", , imports = "", packages = ""] = row
    .split("|")
    .slice(1)
    .map((cell) => cell.trim());
  const rowPaths = [...paths.matchAll(/`([^`]+)`/g)].map(([, path = ""]) => path);
  const words = imports === "–" ? [] : imports.split(/,\s*/);
  return {
    name: nameOf(rowPaths[0] ?? ""),
    paths: rowPaths,
    mayImport: new Map(words.map((word) => (word.endsWith(" (types)") ? [word.slice(0, -8), "types"] : [word, "all"]))),
    packages: new Map(packages.split(";").flatMap(readPackages)),
  };
}

/** Packages as the table has them: some names, and after those where they must stay. */
function readPackages(text: string): [string, string][] {
  const folder = /in `([^`]+)` only/.exec(text)?.[1] ?? "";
  return [...text.replace(/in `[^`]+` only/, "").matchAll(/`([^`]+)`/g)].map(([, name = ""]) => [name, folder]);
}

const table = /\n## Rooms\n[^]*?\n\| *-+[^\n]*\n([^]*?)\n\n/.exec(read("src/README.md"))?.[1] ?? "";
const rooms = table.split("\n").map(readRow);

/** The room that a file belongs to: that with the longest path round it. */
function roomOf(file: string): Room | undefined {
  const fits = rooms.flatMap((room) =>
    room.paths
      .filter((path) => file === path || (path.endsWith("/") && file.startsWith(path)))
      .map((path) => ({ room, path })),
  );
  return fits.toSorted((a, b) => b.path.length - a.path.length)[0]?.room;
}

// ---- the files -------------------------------------------------------------------------------------------------

interface Import {
  readonly file: string;
  /** Package, or file within this repository. */
  readonly target: string;
  readonly typesOnly: boolean;
  /** Whether it is loaded only when the importing code asks for it, by an expression. */
  readonly onDemand: boolean;
}

const STATEMENT = /^(?:import|export)\s+(?<types>type\s)?(?:[^"';]*?\sfrom\s*)?["'](?<target>[^"']+)["']/gm;
const EXPRESSION =
  /(?<types>typeof\s+)?(?:\bimport|\bimport\.meta\.resolve|\bcreateRequire\([^()]*\)|\brequire(?:\.resolve)?|\bpackageFile)\(\s*["'](?<target>[^"']+)["']\s*\)/g;
/** Modules of node, files of the image, and the parts of the bundle that `bridge/globals` makes. */
const NO_FILE = /^(?:node|part):|^#sandbox-image\//;
const FILE_URL = /new URL\(\s*["'](?<target>\.[^"']+\.c?[jt]s)["'],\s*import\.meta\.url\s*\)/g;

function importsOf(file: string): Import[] {
  const text = read(file).replace(/\/\*[^]*?\*\/|^\s*\/\/.*$/gm, "");
  return [STATEMENT, EXPRESSION, FILE_URL]
    .flatMap((pattern) =>
      [...text.matchAll(pattern)].map((match) => ({ groups: match.groups, onDemand: pattern !== STATEMENT })),
    )
    .map(({ groups, onDemand }) => {
      const { target = "", types }: { readonly target?: string; readonly types?: string } = groups ?? {};
      const path = target.startsWith(".") ? posix.join(posix.dirname(file), target) : target;
      return { file, target: path.replace(/^#guest\//, "bridge/guest/"), typesOnly: types !== undefined, onDemand };
    })
    .filter(({ target }) => !NO_FILE.test(target) && !target.endsWith("/package.json"));
}

const listFiles = (folder: string) =>
  readdirSync(posix.join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((path) => /\.c?[jt]sx?$/.test(path) && !/^(?:.*\/)?node_modules\//.test(path))
    .map((path) => posix.join(folder, path));

const page = listFiles("page").filter((path) => !path.startsWith("page/built/"));
const files = [...listFiles("src"), ...listFiles("bridge"), ...page];
const imports = files.flatMap(importsOf);
const isOwn = ({ target }: Pick<Import, "target">) => /^(?:src|bridge|page)\//.test(target);
const packageOf = (target: string) => target.split("/", target.startsWith("@") ? 2 : 1).join("/");
const found = ({ file, target }: Import) => `${file} imports ${target}`;

// ---- the table and the files -----------------------------------------------------------------------------------

test("every room in the file system stands in the table, and every room of the table is in the file system", () => {
  const places = readdirSync(posix.join(root, "src"), { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? [`src/${entry.name}/`] : /\.[jt]s$/.test(entry.name) ? [`src/${entry.name}`] : [],
  );
  // A folder of a room that has a row of its own.
  const inner = ["src/tools/search/"];
  const bridgeFolders = listFiles("bridge").map((file) => `${posix.dirname(file)}/`);
  expect(new Set(rooms.flatMap(({ paths }) => paths))).toEqual(
    new Set([...places, ...inner, ...bridgeFolders, "page/"]),
  );
});

test("the table names rooms by their own names, and each only once", () => {
  const names = rooms.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  for (const { mayImport } of rooms) for (const word of mayImport.keys()) expect(names).toContain(word);
});

test.each(rooms)("$name imports only from the rooms of its row, and only types where that says so", (room) => {
  const wrong = imports.filter(isOwn).filter((one) => {
    const to = roomOf(one.target);
    if (roomOf(one.file) !== room || to === room) return false;
    // Who may import from the bridge may load the guest that lies in it.
    const allowed = room.mayImport.get(to?.name ?? "") ?? room.mayImport.get(to?.name.split("/")[0] ?? "");
    return allowed === undefined || (allowed === "types" && !one.typesOnly);
  });
  expect(wrong.map(found)).toEqual([]);
});

test("every file belongs to a room, and imports nothing of this repository outside of the rooms", () => {
  expect(files.filter((file) => !roomOf(file))).toEqual([]);
  expect(imports.filter((one) => isOwn(one) && !roomOf(one.target)).map(found)).toEqual([]);
});

test("a package is imported only in the room, and in the folder, whose row names it", () => {
  const wrong = imports
    .filter((one) => !isOwn(one))
    .filter(({ file, target }) => {
      const room = roomOf(file);
      const folder = room?.packages.get(packageOf(target));
      return folder === undefined || !file.startsWith(`${room?.paths[0]}${folder}`);
    });
  expect(wrong.map(found)).toEqual([]);
});

test("every package that a row names is imported in that room", () => {
  const idle = rooms.flatMap((room) => {
    const used = new Set(imports.filter(({ file }) => roomOf(file) === room).map(({ target }) => packageOf(target)));
    return [...room.packages.keys()].filter((name) => !used.has(name));
  });
  expect(idle).toEqual([]);
});

/** All files and packages that are loaded with a file. */
function loadedWith(file: string): ReadonlySet<string> {
  const loaded = new Set<string>([file]);
  for (const one of loaded)
    for (const { file: from, target, typesOnly, onDemand } of imports)
      if (from === one && !typesOnly && !onDemand) loaded.add(target);
  return loaded;
}

test("the main entry loads what defines tools and starts an engine, and the rest on demand", () => {
  const loaded = [...loadedWith("src/index.ts")];
  expect(loaded.filter((one) => !isOwn({ target: one })).toSorted()).toEqual(["@cfworker/json-schema", "leven"]);
  const later = [
    "src/sandboxes/docker/",
    "src/sources/mcp/",
    "src/sources/openapi/",
    "src/models/anthropic/",
    "src/frameworks/",
  ];
  expect(loaded.filter((one) => later.some((folder) => one.startsWith(folder)))).toEqual([]);
  for (const one of ["src/programs/drive/drive.ts", "src/gate/gate.ts", "src/agent/agent.ts"])
    expect(loaded).not.toContain(one);
});

test("what a runtime loads to run programs leaves out the conversation, the sources and the containers", () => {
  const loaded = loadedWith("src/host/runtime.ts");
  for (const one of ["src/agent/agent.ts", "src/programs/resume.ts", "src/executions/recover.ts"])
    expect(loaded).not.toContain(one);
  expect([...loaded].filter((one) => /^src\/(?:sources|sandboxes\/docker)\//.test(one))).toEqual([]);
});

test("what parses programs is loaded by its thread alone", () => {
  const folder = "src/programs/prepare/thread/";
  const entry = "src/programs/prepare/thread/thread.js";
  const loading = imports.filter(
    ({ file, target, typesOnly }) => !typesOnly && !file.startsWith(folder) && target.startsWith(folder),
  );
  expect(loading.map(found)).toEqual([`src/programs/prepare/preparing-thread.ts imports ${entry}`]);
  expect(loadedWith("src/programs/prepare/preparing-thread.ts")).not.toContain(entry);
  const parsers = [...loadedWith(entry)].filter((one) => !isOwn({ target: one }));
  expect(parsers).toEqual(["acorn"]);
  expect([...loadedWith("src/host/runtime.ts")]).not.toContain("acorn");
});

test("one file tells the observers of a program, and the loop only what no record says", () => {
  const programs = listFiles("src/programs/").map((file) => [file, read(file)] as const);
  const calling = (pattern: RegExp) => programs.filter(([, text]) => pattern.test(text)).map(([file]) => file);
  const [observers, loop] = ["src/programs/observers.ts", "src/programs/drive/drive.ts"];
  expect(calling(/\.beginProgram\(|\bspan\??\.(?:run|end)\(/)).toEqual([observers]);
  expect(calling(/\bonEvent\(/).toSorted()).toEqual([loop, observers]);
  expect(calling(/(?<!function )\bshownExecution\(/).toSorted()).toEqual([
    "src/programs/from-journal/recorded-execution.ts",
    observers,
  ]);
});

test("sources read the time by `src/clock.ts`, and tests replace that alone: what lint cannot find", () => {
  const using = (names: readonly string[], pattern: RegExp) => names.filter((file) => pattern.test(read(file)));
  const sources = listFiles("src").filter((file) => file !== "src/clock.ts");
  expect(using(sources, /\bnew Date\(\)|\bprocess\.(?:hrtime|uptime)\b/)).toEqual([]);
  const tests = listFiles("test").filter((file) => file.endsWith(".test.ts"));
  expect(using(tests, /\bspyOn\((?:Date|performance|globalThis, "set(?:Timeout|Interval)")/)).toEqual([]);
});

/**
 * Tests that time something, or send bytes over time to a real socket. A file that is not listed waits for an event or a state,
 * and has time pass by `support/clock.ts`.
 */
const TIMED = [
  "test/fleet/documented/compose.test.ts",
  "test/programs/streams-taken-up.suite.ts",
  "test/sandboxes/docker/egress/egress-containers.test.ts",
  "test/sandboxes/docker/egress/egress-proxy.test.ts",
  "test/serve/live/event-stream.test.ts",
  "test/sources/mcp/hostile-servers.test.ts",
  "test/sources/mcp/http.test.ts",
];

test("no test sleeps or reads a clock, but those that are listed", () => {
  const QUOTED = /"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`|\/\/.*|\/\*[^]*?\*\//g;
  const TIMES = /\b(?:setTimeout|setInterval|delay|vi\.wait(?:For|Until))\(|\bperformance\.now\(/;
  const tests = listFiles("test").filter((file) => /\.(?:test|suite)\.ts$/.test(file));
  const ordinary = tests.filter((file) => !/\/(?:node_modules|bench)\/|\.(?:all|machine)\.test\.ts$/.test(file));
  expect(ordinary.filter((file) => TIMES.test(read(file).replaceAll(QUOTED, ""))).toSorted()).toEqual(TIMED);
});

test("the reader of imports finds every form of them", () => {
  expect(imports.length).toBeGreaterThan(files.length);
  const has = (file: string, target: string, typesOnly: boolean) =>
    imports.some((one) => one.file === file && one.target === target && one.typesOnly === typesOnly);
  expect(has("src/gate/queues/tool-queues.ts", "p-queue", false)).toBe(true);
  expect(has("src/output/report.ts", "src/programs/execution.ts", true)).toBe(true);
  expect(has("src/index.ts", "src/errors.ts", false)).toBe(true);
  expect(has("src/programs/prepare/preparing-thread.ts", "src/programs/prepare/thread/thread.js", false)).toBe(true);
  expect(has("src/programs/prepare/thread/types/stripper.ts", "amaro", false)).toBe(true);
  expect(has("src/sandboxes/memory-sandbox.ts", "bridge/guest/guest.js", false)).toBe(true);
  expect(has("src/sandboxes/isolate/engine-command.ts", "src/sandboxes/isolate/engine.cjs", false)).toBe(true);
  expect(has("src/sandboxes/isolate/platform.ts", "isolated-vm", false)).toBe(true);
  expect(has("src/sandboxes/isolate/platform.ts", "node-gyp-build", false)).toBe(true);
  expect(has("src/sandboxes/docker/daemon.ts", "dockerode", false)).toBe(true);
});

// ---- the tests -------------------------------------------------------------------------------------------------

/** Public entries, and the one file of a room that `src/README.md` names as its face. */
const { exports } = JSON.parse(read("package.json")) as { exports: Record<string, string | Record<string, string>> };
const faces = new Set([
  ...Object.values(exports).flatMap((entry) =>
    typeof entry === "string" ? [] : [posix.normalize(entry["portcullis-source"] ?? "")],
  ),
  ...(/\nFaces of rooms: ([^]*?)\.\n/.exec(read("src/README.md"))?.[1]?.match(/src\/[\w/-]+\.ts/g) ?? []),
]);

const testFiles = listFiles("test").filter((file) => !/\/node_modules\/|^test\/bench\//.test(file));
const importsOfTests = new Map(testFiles.map((file) => [file, importsOf(file).map(({ target }) => target)]));

/** The files of `src` that a test imports, itself or by way of files of tests, and that are no faces. */
function privateImports(file: string, seen = new Set<string>()): readonly string[] {
  if (seen.has(file)) return [];
  seen.add(file);
  return (importsOfTests.get(file) ?? []).flatMap((target) => {
    if (importsOfTests.has(target)) return privateImports(target, seen);
    return target.startsWith("src/") && !faces.has(target) ? [target] : [];
  });
}

test("tests import public entries and faces of rooms; no more files than test/README.md says import anything else", () => {
  const importing = testFiles.filter((file) => file.endsWith(".test.ts") && privateImports(file).length > 0);
  // The parts of one subject in the three runs count once.
  const subjects = new Set(importing.map((file) => file.replace(/(?:\.all|\.machine)?\.test\.ts$/, "")));
  const most = Number(/(\d+) files of tests import private modules/.exec(read("test/README.md"))?.[1]);
  expect([...faces].filter((face) => !files.includes(face))).toEqual([]);
  expect(subjects.size, "a new test imports an entry or a face").toBeLessThanOrEqual(most);
});

test("each room has a folder of tests", () => {
  const rooms = readdirSync(posix.join(root, "src"), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const withoutTests = rooms.filter(({ name }) => {
    const folder = posix.join(root, "test", name);
    return (
      !existsSync(folder) || !readdirSync(folder, { recursive: true }).some((file) => String(file).endsWith(".test.ts"))
    );
  });
  expect(withoutTests.map(({ name }) => name)).toEqual([]);
});
