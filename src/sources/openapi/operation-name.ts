import { identifierOf } from "../../tools/tool-name.ts";

/** Maximum length of a name's part. Longer parts are cut; names that are equal then are refused. */
const PART_LENGTH = 100;

/**
 * The name of a tool below its source's: `issues.listForRepo` for the id `issues/list-for-repo`. Slashes, dots, colons and
 * number signs part namespaces, hyphens and spaces part words. Without an id it is made from method and path:
 * `getReposByOwnerByRepo` for `GET /repos/{owner}/{repo}`.
 */
export function operationName(operationId: string | undefined, method: string, path: string): string {
  const id = operationId === undefined ? "" : nameOfId(operationId);
  return id === "" ? nameOfPath(method, path) : id;
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
  return identifier([method, ...words].join("-"));
}

/** Words joined like `listForRepo`. */
function identifier(text: string): string {
  const words = text.split(/[-\s]+/).filter((word) => word !== "");
  const joined = words
    .map((word, index) => (index === 0 ? word : word.charAt(0).toUpperCase() + word.slice(1)))
    .join("");
  return joined === "" ? "" : identifierOf(joined.slice(0, PART_LENGTH));
}
