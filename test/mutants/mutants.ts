import { createHash } from "node:crypto";
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { Copy, type Suite } from "./copy.ts";
import { type Candidate, draw, type Found, mutantOf, nameOf, type Place, recording } from "./places.ts";
import { readRecorded, say, sayTable, writeRecorded } from "./table.ts";

/**
 * Tells whether the tests of a tree find mutants of its sources, at 100 places that a seed draws. A mutant is found if a file
 * of tests fails with it and passes without it. A run that was stopped continues where it was.
 */
const PLACES = 100;
const MOST_HOURS = 2;
/** Files that take minutes, or judge the machine. They run only for places that no other file reaches. */
const COSTLY =
  /^test\/(?:hostile|hostile-docker|host-memory|host-memory-streams|read-journals|linear-time|bundlers|package\/\w+|serve\/load|durability\/gigabyte|fleet\/kills)(?:\.all)?\.test\.ts$/;
/** How many of the nearest files run before it is recorded what all files reach: they find most mutants. */
const NEAREST = 6;
/** How many files one run records, and how long it may take. */
const RECORDED = 25;
const RECORDED_MS = 1_200_000;
/** For about how long the nearest tests run first. Each further run is twice as long. */
const RUN_MS = 10_000;
/** What the tests of a mutant take in one suite at most. Those that are further away are left out. */
const MOST_MS = 240_000;
/** What a file takes that has not run yet. */
const UNKNOWN_MS = 3000;

interface Result {
  readonly found: Found;
  /** The test that failed, or how many files were left out. */
  readonly note: string;
}

interface State {
  readonly files: Record<string, { readonly milliseconds: number; readonly reaches: readonly string[] }>;
  /** Whether files pass without a mutant. */
  readonly passes: Record<string, boolean>;
  /** The nearest files, if they pass with a mutant. */
  readonly nearest: Record<string, readonly string[]>;
  readonly results: Record<string, Result>;
}

const { values } = parseArgs({ options: { tree: { type: "string", default: "." }, record: { type: "boolean" } } });
const { tree } = values;
const recorded = readRecorded();
const drawn = draw(tree, recorded, PLACES);
const statePath = join(tree, `node_modules/.cache/mutants-${digest()}.json`);
const state: State = existsSync(statePath)
  ? JSON.parse(readFileSync(statePath, "utf8"))
  : { files: {}, passes: {}, nearest: {}, results: {} };

/** Of what decides about results: those of other sources and tests do not count. */
function digest(): string {
  const hash = createHash("sha256").update(JSON.stringify(drawn.map(nameOf)));
  const sources = { cwd: tree, exclude: ["**/node_modules/**"] };
  for (const file of globSync("{src,bridge,test,examples}/**/*.{ts,js,cjs,py,json}", sources).toSorted())
    if (!file.startsWith("test/mutants/")) hash.update(file).update(readFileSync(join(tree, file)));
  return hash.digest("hex").slice(0, 16);
}

function save(): void {
  mkdirSync(dirname(statePath), { recursive: true });
  writeFileSync(statePath, JSON.stringify(state, undefined, 1));
}

for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(130));
const copy = new Copy(tree);
const listed = { test: copy.list("test"), "test-all": copy.list("test-all") };
const cheap = (files: readonly string[]) => files.filter((file) => !COSTLY.test(file));

/** Whether a file of tests, or one of the tests that it imports, tries more in `make test-all`. */
function triesMore(file: string, seen = new Set<string>()): boolean {
  if (seen.has(file) || !file.startsWith("test/") || !existsSync(join(copy.root, file))) return false;
  seen.add(file);
  const text = copy.read(file);
  if (/PORTCULLIS_TESTS|\/all-tests\.ts"/.test(text)) return true;
  return [...text.matchAll(/ from "(\.[^"]+)"/g)].some(([, path = ""]) => triesMore(join(dirname(file), path), seen));
}

const suites = {
  test: listed.test,
  "test-all": listed["test-all"].filter((file) => !listed.test.includes(file) || triesMore(file)),
};

/** Runs files of tests while the drawn places record which file reaches them. */
async function recordReach(files: readonly string[], suite: Suite): Promise<void> {
  const log = join(copy.root, "reached.log");
  const open = [...drawn.entries()].filter(([, place]) => isOpen(place));
  const byFile = Map.groupBy(open, ([, { file }]) => file);
  const left = open.length === 0 ? [] : files.filter((file) => state.files[file] === undefined);
  const sources = [...byFile].map(([file, places]) => ({ file, places, source: copy.read(file) }));
  for (const { file, places, source } of sources) copy.write(file, recording(source, places, log));
  for (let from = 0; from < left.length; from += RECORDED) {
    copy.write("reached.log", "");
    const { milliseconds } = await copy.run(left.slice(from, from + RECORDED), suite, RECORDED_MS);
    if (Object.keys(milliseconds).length === 0) throw new Error(`The tests of ${tree} do not run.`);
    addReached(milliseconds, copy.read("reached.log").trim().split("\n"));
    save();
    say(`Recorded what ${Math.min(from + RECORDED, left.length)} of ${left.length} files of tests reach.`);
  }
  for (const { file, source } of sources) copy.write(file, source);
}

/** Lines are the number of a place and the path of a file of tests, which is empty if the process did not know it. */
function addReached(milliseconds: Readonly<Record<string, number>>, lines: readonly string[]): void {
  const reached = Map.groupBy(lines, (line) => line.split("\t")[1]?.slice(copy.root.length + 1) ?? "");
  for (const [file, took] of [["", 0] as const, ...Object.entries(milliseconds)]) {
    const numbers = new Set((reached.get(file) ?? []).map((line) => Number.parseInt(line, 10)));
    const places = drawn.filter((_, index) => numbers.has(index)).map(nameOf);
    state.files[file] = { milliseconds: took, reaches: [...new Set([...reachesOf(file), ...places])] };
  }
}

const reachesOf = (file: string) => state.files[file]?.reaches ?? [];
const isOpen = (place: Place) => state.results[nameOf(place)] === undefined;
const millisecondsOf = (files: readonly string[]) =>
  files.reduce((sum, file) => sum + (state.files[file]?.milliseconds ?? UNKNOWN_MS), 0);

/** How many folders a file of tests shares with a source; above all if it is named after it. */
function nearness(file: string, place: Place): number {
  const [ofTest = [], ofSource = []] = [file, place.file].map((path) =>
    path
      .replace(/\.\w.*/, "")
      .split("/")
      .slice(1),
  );
  const shared = ofTest.findIndex((part, index) => part !== ofSource[index]);
  return shared < 0 ? Number.POSITIVE_INFINITY : shared;
}

const nearestFirst = (files: readonly string[], place: Place) =>
  files.toSorted(
    (one, other) => nearness(other, place) - nearness(one, place) || millisecondsOf([one]) - millisecondsOf([other]),
  );

/** Code that runs once in a process, in an engine, or in a process that knew no file: each test of its room may reach it. */
const isVague = (place: Candidate) =>
  place.isLoading || place.file.endsWith(".cjs") || reachesOf("").includes(nameOf(place));

/** The files of a suite that may reach a place: also what they try in `make test-all` alone. */
function testsOf(place: Candidate, suite: Suite): string[] {
  const isOfRoom = suite === "test-all" || isVague(place);
  const known = suites[suite].filter((file) => state.files[file] !== undefined);
  const reaching = (file: string) => reachesOf(file).includes(nameOf(place)) || (isOfRoom && nearness(file, place) > 0);
  return nearestFirst(known.filter(reaching), place);
}

/** As many of the first files as take a time, and at least one. */
function firstOf(files: readonly string[], mostMs: number): readonly string[] {
  const over = files.findIndex((_, index) => index > 0 && millisecondsOf(files.slice(0, index + 1)) > mostMs);
  return over < 0 ? files : files.slice(0, over);
}

const runToFirst = (files: readonly string[], suite: Suite) =>
  copy.run(files, suite, 120_000 + 5 * millisecondsOf(files), "--bail=1");

async function passes(files: readonly string[], suite: Suite): Promise<boolean> {
  const key = `${suite} ${files.join(" ")}`;
  state.passes[key] ??= (await runToFirst(files, suite)).failed.length === 0;
  save();
  return state.passes[key];
}

/** Runs tests with a mutant until a file fails that passes without it, and says which. */
async function findBy(files: readonly string[], suite: Suite, place: Candidate): Promise<string | undefined> {
  const source = copy.read(place.file);
  let left = files;
  for (let mostMs = RUN_MS; left.length > 0; mostMs *= 2) {
    const run = firstOf(left, mostMs);
    copy.write(place.file, mutantOf(source, place));
    const { failed, test } = await runToFirst(run, suite);
    copy.write(place.file, source);
    if (failed.length > 0 && (await passes(failed, suite))) return `${failed.join(" ")}: ${test}`;
    const done = failed.length > 0 ? failed : run;
    left = left.filter((file) => !done.includes(file));
  }
  return undefined;
}

async function findNear(place: Candidate): Promise<Result | undefined> {
  if (state.nearest[nameOf(place)] !== undefined) return undefined;
  const ofRoom = cheap(suites.test).filter((file) => nearness(file, place) > 0);
  const files = nearestFirst(ofRoom, place).slice(0, NEAREST);
  const note = await findBy(files, "test", place);
  if (note !== undefined) return { found: "test", note };
  state.nearest[nameOf(place)] = files;
  save();
  return undefined;
}

async function find(place: Candidate): Promise<Result> {
  let leftOut = 0;
  for (const suite of ["test", "test-all"] as const) {
    const done = suite === "test" ? (state.nearest[nameOf(place)] ?? []) : [];
    const left = testsOf(place, suite).filter((file) => !done.includes(file));
    const files = firstOf(left, MOST_MS);
    const note = await findBy(files, suite, place);
    if (note !== undefined) return { found: suite, note };
    leftOut += left.length - files.length;
  }
  const isReached = isVague(place) || Object.keys(state.files).some((file) => reachesOf(file).includes(nameOf(place)));
  return { found: isReached ? "nothing" : "not reached", note: leftOut > 0 ? `${leftOut} files were left out` : "" };
}

async function findAll(places: readonly Candidate[], findOne: typeof findNear): Promise<void> {
  for (const place of places.filter(isOpen)) {
    if (performance.now() > MOST_HOURS * 3_600_000) return;
    const result = await findOne(place);
    if (result === undefined) continue;
    state.results[nameOf(place)] = result;
    save();
    say(`${result.found}: ${place.file}:${place.line}: ${place.kind}. ${result.note}`);
  }
}

const isUnreached = (place: Candidate) => testsOf(place, "test").length + testsOf(place, "test-all").length === 0;

await findAll(drawn, findNear);
await recordReach(cheap(listed.test), "test");
await recordReach(cheap(listed["test-all"]), "test-all");
await findAll(
  drawn.filter((place) => !isUnreached(place)),
  find,
);
if (drawn.filter(isOpen).some(isUnreached)) await recordReach(listed["test-all"], "test-all");
await findAll(drawn, find);

const results = drawn.map((place) => ({ ...place, found: state.results[nameOf(place)]?.found ?? "not run" }));
sayTable(recorded, results);
const failing = Object.keys(state.passes).filter((key) => !state.passes[key]);
if (failing.length > 0) say(`\nThese fail without a mutant, and find nothing:\n${failing.join("\n")}`);
if (values.record) writeRecorded(results);
