import { hash } from "node:crypto";
import type { Pace } from "../../base/index.ts";
import { identifierOf, namespacesOf } from "../../tools/tool-name.ts";

/** Maximum length of a name's part. Longer parts are cut; names that are equal then are refused. */
const PART_LENGTH = 100;
const NAME_LENGTH = 128;

/**
 * The name of a tool below its source's: `issues.listForRepo` for the id `issues/list-for-repo`. Slashes, dots, colons and
 * number signs part namespaces, hyphens and spaces part words. Without an id it is made from method and path:
 * `getReposByOwnerByRepo` for `GET /repos/{owner}/{repo}`.
 */
function operationName({ operationId, method, path }: Named): string {
  const id = operationId === undefined ? "" : nameOfId(operationId);
  return id === "" ? nameOfPath(method, path) : id;
}

interface Named {
  readonly operationId: string | undefined;
  readonly method: string;
  readonly path: string;
}

/**
 * The names of all operations of a document. Of those that would share one, only an id that is written like it keeps it, and the
 * others are named by method and path. An operation does not stand in the namespace of another: `levels.append` beside
 * `levels` is `levels_append`. A name that is too long below its source ends with a digest.
 */
export async function operationNames(operations: readonly Named[], source: string, pace: Pace) {
  const withDigest = (method: string, path: string, name = nameOfPath(method, path)) =>
    `${name}_${hash("sha256", `${method} ${path}`).slice(0, 8)}`;
  const each = async (nameOf: (operation: Named, index: number) => string) => {
    const result: string[] = [];
    for (const [index, operation] of operations.entries()) {
      await pace.rest();
      result.push(nameOf(operation, index));
    }
    return result;
  };
  let names = await each(operationName);
  for (const other of [nameOfPath, withDigest]) {
    const sharing = Map.groupBy(names.keys(), (index) => names[index]!);
    const keeping = new Set<number>();
    for (const [name, shared] of sharing) {
      const asWritten = shared.filter((index) => operations[index]?.operationId === name);
      const [keeper] = shared.length === 1 ? shared : asWritten.length === 1 ? asWritten : [];
      if (keeper !== undefined) keeping.add(keeper);
    }
    const before = names;
    names = await each(({ method, path }, index) => (keeping.has(index) ? before[index]! : other(method, path)));
  }
  const all = new Set(names);
  const longest = NAME_LENGTH - source.length - 1;
  return await each(({ method, path }, index) => {
    const name = names[index]!;
    const own = namespacesOf(name).some((outer) => all.has(outer)) ? name.replaceAll(".", "_") : name;
    // Half of a character is none.
    const start = own.slice(0, Math.max(0, longest - "_12345678".length)).replace(/[\ud800-\udbff]$/, "");
    return own.length <= longest ? own : withDigest(method, path, start);
  });
}

function nameOfId(id: string): string {
  return id
    .slice(0, 4 * PART_LENGTH)
    .split(/[/.:#]/)
    .map(identifier)
    .filter((part) => part !== "")
    .join(".");
}

function nameOfPath(method: string, path: string): string {
  const words = path
    .slice(0, 4 * PART_LENGTH)
    .split("/")
    .flatMap((part) => part.split(/(?=\{)|(?<=\})/))
    .map((part) => (part.startsWith("{") ? `by-${part.slice(1, -1)}` : part));
  return identifier([method.toLowerCase(), ...words].join("-"));
}

function identifier(text: string): string {
  const words = text.split(/[-\s]+/).filter((word) => word !== "");
  const joined = words
    .map((word, index) => (index === 0 ? word : word.charAt(0).toUpperCase() + word.slice(1)))
    .join("");
  return joined === "" ? "" : identifierOf(joined.slice(0, PART_LENGTH));
}
