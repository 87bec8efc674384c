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
  /** What it takes, by a statement. */
  readonly names: readonly string[];
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
      [...text.matchAll(pattern)].map((match) => ({
        statement: match[0],
        groups: match.groups,
        onDemand: pattern !== STATEMENT,
      })),
    )
    .map(({ statement, groups, onDemand }) => {
      const { target: named = "", types }: { readonly target?: string; readonly types?: string } = groups ?? {};
      const path = named.startsWith(".") ? posix.join(posix.dirname(file), named) : named;
      const listed = /\{([^}]*)\}/.exec(statement)?.[1]?.split(",") ?? [];
      const names = listed.map((name) => name.trim().replace(/^type | as .*/g, "")).filter((name) => name !== "");
      const target = path.replace(/^#guest\//, "bridge/guest/");
      return { file, target, typesOnly: types !== undefined, onDemand, names };
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

const { exports } = JSON.parse(read("package.json")) as { exports: Record<string, string | Record<string, string>> };
const exportedFiles = Object.values(exports).flatMap((entry) =>
  typeof entry === "string" ? [] : [posix.normalize(entry["portcullis-source"] ?? "")],
);

// ---- the table and the files -----------------------------------------------------------------------------------

test("every room in the file system stands in the table, and every room of the table is in the file system", () => {
  const places = readdirSync(posix.join(root, "src"), { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? [`src/${entry.name}/`] : /\.[jt]s$/.test(entry.name) ? [`src/${entry.name}`] : [],
  );
  const bridgeFolders = listFiles("bridge").map((file) => `${posix.dirname(file)}/`);
  expect(new Set(rooms.flatMap(({ paths }) => paths))).toEqual(new Set([...places, ...bridgeFolders, "page/"]));
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

test("every room that a row lists is imported by it", () => {
  const idle = rooms.flatMap((room) => {
    const used = new Set(imports.filter(({ file }) => roomOf(file) === room).map(({ target }) => roomOf(target)?.name));
    return [...room.mayImport.keys()]
      .filter((name) => !used.has(name) && ![...used].some((one) => one?.startsWith(`${name}/`)))
      .map((name) => `${room.name} does not import ${name}`);
  });
  expect(idle).toEqual([]);
});

const BASE_FACE = "src/base/index.ts";
/** Loads zod, which the main entry does not. */
const BASE_SCHEMAS = "src/base/values/object-schema.ts";
/** The page in a browser loads it too, and nothing of node. */
const BASE_TEXTS = "src/base/texts.ts";

test("all rooms import base by its one face, but for its schemas", () => {
  const wrong = imports.filter(
    ({ file, target }) =>
      /^src\/(?!base\/)/.test(file) &&
      target.startsWith("src/base/") &&
      ![BASE_FACE, BASE_SCHEMAS, BASE_TEXTS].includes(target),
  );
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
  for (const one of ["src/executions/drive/drive.ts", "src/gate/gate.ts", "src/conversations/agent.ts"])
    expect(loaded).not.toContain(one);
});

test("what a runtime loads to run programs leaves out the conversation, the sources and the containers", () => {
  const loaded = loadedWith("src/runtime/runtime.ts");
  for (const one of ["src/conversations/agent.ts", "src/executions/resume.ts", "src/runtime/executions/recover.ts"])
    expect(loaded).not.toContain(one);
  expect([...loaded].filter((one) => /^src\/(?:sources|sandboxes\/docker)\//.test(one))).toEqual([]);
});

test("the command line prints its help without zod, which takes as long to load as all else", () => {
  expect([...loadedWith("src/cli/run-process.ts")]).not.toContain("zod");
});

test("what parses programs is loaded by its thread alone", () => {
  const folder = "src/executions/prepare/thread/";
  const entry = "src/executions/prepare/thread/thread.js";
  const loading = imports.filter(
    ({ file, target, typesOnly }) => !typesOnly && !file.startsWith(folder) && target.startsWith(folder),
  );
  expect(loading.map(found)).toEqual([`src/executions/prepare/preparing-thread.ts imports ${entry}`]);
  expect(loadedWith("src/executions/prepare/preparing-thread.ts")).not.toContain(entry);
  const parsers = [...loadedWith(entry)].filter((one) => !isOwn({ target: one }));
  expect(parsers.toSorted()).toEqual(["acorn", "leven"]);
  expect([...loadedWith("src/runtime/runtime.ts")]).not.toContain("acorn");
});

test("one file tells the observers of a program, and the loop only what no record says", () => {
  const programs = listFiles("src/executions/").map((file) => [file, read(file)] as const);
  const calling = (pattern: RegExp) => programs.filter(([, text]) => pattern.test(text)).map(([file]) => file);
  const [observers, loop] = ["src/executions/observers.ts", "src/executions/drive/drive.ts"];
  expect(calling(/\.beginProgram\(|\bspan\??\.(?:run|end)\(/)).toEqual([observers]);
  expect(calling(/\bonEvent\(/).toSorted()).toEqual([loop, observers]);
  expect(calling(/(?<!function )\bshownExecution\(/).toSorted()).toEqual([
    "src/executions/from-journal/recorded-execution.ts",
    observers,
  ]);
});

test("sources read the time by `src/base/clock.ts`, and tests replace that alone: what lint cannot find", () => {
  const using = (names: readonly string[], pattern: RegExp) => names.filter((file) => pattern.test(read(file)));
  const sources = listFiles("src").filter((file) => file !== "src/base/clock.ts");
  expect(using(sources, /\bnew Date\(\)|\bprocess\.(?:hrtime|uptime)\b/)).toEqual([]);
  const tests = listFiles("test").filter((file) => file.endsWith(".test.ts"));
  expect(using(tests, /\bspyOn\((?:Date|performance|globalThis, "set(?:Timeout|Interval)")/)).toEqual([]);
});

/**
 * Tests that time something, or send bytes over time to a real socket. A file that is not listed waits for an event or a state,
 * and has time pass by `support/clock.ts`.
 */
const TIMED = [
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
  expect(has("src/executions/output/report.ts", "src/executions/execution.ts", true)).toBe(true);
  expect(has("src/index.ts", "src/base/index.ts", false)).toBe(true);
  expect(has("src/executions/prepare/preparing-thread.ts", "src/executions/prepare/thread/thread.js", false)).toBe(
    true,
  );
  expect(has("src/executions/prepare/thread/types/stripper.ts", "@swc/wasm-typescript", false)).toBe(true);
  expect(has("src/sandboxes/memory-sandbox.ts", "bridge/guest/guest.js", false)).toBe(true);
  expect(has("src/sandboxes/isolate/engine-command.ts", "src/sandboxes/isolate/engine.cjs", false)).toBe(true);
  expect(has("src/sandboxes/isolate/platform.ts", "isolated-vm", false)).toBe(true);
  expect(has("src/sandboxes/isolate/platform.ts", "node-gyp-build", false)).toBe(true);
  expect(has("src/sandboxes/docker/daemon.ts", "dockerode", false)).toBe(true);
});

// ---- the wall --------------------------------------------------------------------------------------------------

/** The rooms of the core, by `src/README.md`, are all others. */
const DOORS: ReadonlySet<string> = new Set(["sources", "frameworks", "fleet", "serve", "cli", "comparison"]);
const isDoor = (file: string) => DOORS.has(roomOf(file)?.name ?? "");
/** They may name doors: the main entry, and what `asTool` loads on demand. */
const isRoot = ({ file, onDemand }: Import) =>
  file === "src/index.ts" || (file === "src/runtime/runtime.ts" && onDemand);

test("the core imports no door, and no door another, but the command line", () => {
  const ofSources = imports.filter(({ file, target }) => file.startsWith("src/") && isDoor(target));
  const fromCore = ofSources.filter((one) => !isDoor(one.file) && !isRoot(one));
  const betweenDoors = ofSources.filter(
    ({ file, target }) => isDoor(file) && roomOf(file) !== roomOf(target) && roomOf(file)?.name !== "cli",
  );
  expect([...fromCore, ...betweenDoors].map(found)).toEqual([]);
});

test("doors import no more files of the core than src/README.md says that no entry shows", () => {
  const entries = new Set(exportedFiles);
  const shown = new Set([...entries, ...imports.filter(({ file }) => entries.has(file)).map(({ target }) => target)]);
  const behind = imports.filter(
    ({ file, target, onDemand }) =>
      isDoor(file) && target.startsWith("src/") && !isDoor(target) && !shown.has(target) && !onDemand,
  );
  const figures = [
    new Set(behind.map(({ target }) => target)).size,
    new Set(behind.flatMap(({ target, names }) => names.map((name) => `${target} ${name}`))).size,
  ];
  const most = /import (\d+) files of the core, with (\d+) names/.exec(read("src/README.md"));
  expect(figures).toEqual(most?.slice(1).map(Number));
});

// ---- the tests -------------------------------------------------------------------------------------------------

/** Public entries, and the one file of a room that `src/README.md` names as its face. */
const faces = new Set([
  ...exportedFiles,
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
