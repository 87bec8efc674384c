import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { type Node, parse } from "acorn";
import { transformSync } from "amaro";

/** A condition that a mutant negates, or a statement that it leaves out. It is found again by file, text and occurrence. */
export interface Place {
  readonly room: string;
  readonly file: string;
  readonly kind: "negate" | "leave out";
  /** The first characters of the place, on one line. */
  readonly text: string;
  /** Which place of the file with this kind and text. */
  readonly occurrence: number;
}

export type Found = "test" | "test-all" | "nothing" | "not reached" | "not run";
export type Recorded = Place & { readonly found: Found };

export interface Candidate extends Place {
  readonly start: number;
  readonly end: number;
  readonly line: number;
  /** Whether it runs while its module is loaded: once in a process, whichever tests follow. */
  readonly isLoading: boolean;
}

const SEED = "portcullis";
const TEXT = 160;
const CONDITIONS = new Set([
  "IfStatement",
  "ConditionalExpression",
  "WhileStatement",
  "DoWhileStatement",
  "ForStatement",
]);

type Parsed = Node & { readonly test?: Node | null; readonly directive?: string };

const isNode = (value: unknown): value is Parsed =>
  typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";

function* nodesOf(node: Parsed, isLoading = true): Generator<readonly [Parsed, boolean]> {
  yield [node, isLoading];
  for (const child of Object.values(node).flat())
    if (isNode(child)) yield* nodesOf(child, isLoading && !node.type.includes("Function"));
}

function placeOf(node: Parsed): { readonly kind: Place["kind"]; readonly at: Node } | undefined {
  if (CONDITIONS.has(node.type) && isNode(node.test)) return { kind: "negate", at: node.test };
  const isStatement = node.type === "ThrowStatement" || (node.type === "ExpressionStatement" && !node.directive);
  return isStatement ? { kind: "leave out", at: node } : undefined;
}

/** Types are blanked out, so positions of the parsed code are those of the source. */
const parseSource = (file: string, source: string): Parsed =>
  parse(file.endsWith(".ts") ? transformSync(source, { mode: "strip-only" }).code : source, {
    ecmaVersion: "latest",
    sourceType: file.endsWith(".cjs") ? "commonjs" : "module",
  });

function candidatesOfFile(file: string, source: string): Candidate[] {
  const seen = new Map<string, number>();
  return [...nodesOf(parseSource(file, source))].flatMap(([node, isLoading]) => {
    const place = placeOf(node);
    if (place === undefined) return [];
    const { kind, at } = place;
    const { start, end } = at;
    const text = source.slice(start, end).replaceAll(/\s+/g, " ").slice(0, TEXT);
    const occurrence = seen.get(kind + text) ?? 0;
    seen.set(kind + text, occurrence + 1);
    const line = source.slice(0, start).split("\n").length;
    const room = file.split("/")[1]?.replace(/\..*/, "") ?? "";
    return [{ room, file, kind, text, occurrence, start, end, line, isLoading }];
  });
}

export const candidatesOf = (tree: string): Candidate[] =>
  globSync("src/**/*.{ts,cjs,js}", { cwd: tree })
    .toSorted()
    .flatMap((file) => candidatesOfFile(file, readFileSync(join(tree, file), "utf8")));

export const nameOf = ({ file, kind, text, occurrence }: Place): string => `${kind} ${file} ${occurrence} ${text}`;

/** A place has the same rank in every tree that has it, so a draw changes as little as the source. */
const rankOf = (place: Place) =>
  createHash("sha256")
    .update(`${SEED} ${nameOf(place)}`)
    .digest("hex");

/** A file that moved is found by its name, and a place that moved alone by its text, if one place only has it. */
function findAgain(place: Place, candidates: readonly Candidate[]): Candidate | undefined {
  const alike = candidates.filter(({ kind, text }) => kind === place.kind && text === place.text);
  const sameOccurrence = alike.filter(({ occurrence }) => occurrence === place.occurrence);
  const moved = sameOccurrence.filter(({ file }) => basename(file) === basename(place.file));
  const there = sameOccurrence.find(({ file }) => file === place.file);
  return there ?? [moved, alike].find(({ length }) => length === 1)?.[0];
}

export interface Drawn extends Candidate {
  /** What found the recorded place that this one is. A place that is drawn anew has none. */
  readonly before: Found | undefined;
}

/** The recorded places that are left. Each of the others is drawn anew in its room, or in all of `src` if the room has gone. */
export function draw(tree: string, recorded: readonly Recorded[], count: number): Drawn[] {
  const candidates = candidatesOf(tree);
  const found = recorded.map((place) => ({ place, there: findAgain(place, candidates) }));
  const drawn: Drawn[] = found.flatMap(({ place, there }) => (there ? [{ ...there, before: place.found }] : []));
  const names = new Set(drawn.map(nameOf));
  const ranked = Map.groupBy(candidates, rankOf);
  const left = [...ranked.keys()].toSorted().flatMap((rank) => ranked.get(rank) ?? []);
  const rooms: (string | undefined)[] = found.flatMap(({ place, there }) => (there ? [] : [place.room]));
  while (drawn.length + rooms.length < count) rooms.push(undefined);
  for (const room of rooms) {
    const free = left.filter((place) => !names.has(nameOf(place)));
    const place = free.find((candidate) => candidate.room === room) ?? free[0];
    if (place === undefined) break;
    names.add(nameOf(place));
    drawn.push({ ...place, before: undefined });
  }
  return drawn;
}

export function mutantOf(source: string, { kind, start, end }: Candidate): string {
  const mutated = kind === "negate" ? `!(${source.slice(start, end)})` : ";";
  return source.slice(0, start) + mutated + source.slice(end);
}

/** Appends a place and the file of tests to a log, once per process and file. An engine may not write: it is not seen. */
const recorderOf = (log: string) => `
function mutantsReached(place) {
  const line = place + "\\t" + (globalThis.mutantsTest ?? globalThis.process?.env.MUTANTS_TEST ?? "") + "\\n";
  const seen = (globalThis.mutantsSeen ??= new Set());
  if (seen.has(line)) return;
  try {
    globalThis.process.getBuiltinModule("node:fs").appendFileSync(${JSON.stringify(log)}, line);
    seen.add(line);
  } catch {}
}
`;

/** The source of a file in which each place records its number when it is reached. */
export function recording(source: string, places: readonly (readonly [number, Candidate])[], log: string): string {
  const innerFirst = places.toSorted(([, one], [, other]) => one.end - one.start - (other.end - other.start));
  const inserted = new Map<number, string>();
  const insert = (at: number, text: string) => inserted.set(at, (inserted.get(at) ?? "") + text);
  for (const [, { kind, end }] of innerFirst) insert(end, kind === "negate" ? ")" : " }");
  for (const [index, { kind, start }] of innerFirst.toReversed())
    insert(start, kind === "negate" ? `(mutantsReached(${index}), ` : `{ mutantsReached(${index}); `);
  const cuts = [...inserted.keys()].toSorted((one, other) => one - other);
  const parts = cuts.map((at, index) => source.slice(cuts[index - 1] ?? 0, at) + inserted.get(at));
  return parts.join("") + source.slice(cuts.at(-1) ?? 0) + recorderOf(log);
}
