import { LinearPattern, PatternRefused } from "../../tools/json-schema/index.ts";

const LONGEST = 1000;
/** Steps for one path: some milliseconds of the host's thread. */
const STEPS = 200_000;

/**
 * A pattern of paths: `*` and `?` stand for what has no slash, `**` for any folders, `{a,b}` for a choice. Everything else
 * stands for itself, also brackets, which names of files have. A pattern without a slash is one of names at any depth.
 * Throws a `PatternRefused`.
 */
export class Glob {
  readonly #pattern: LinearPattern;
  /** Fits also what is below a place that the pattern fits. Made once it is needed. */
  #covering: LinearPattern | undefined;
  readonly #expression: string;
  readonly #isOfNames: boolean;

  constructor(source: string) {
    if (source.length > LONGEST) throw new PatternRefused(`has more than ${LONGEST} characters`);
    const path = source.replace(/^\.?\/|\/$/g, "");
    this.#isOfNames = !path.includes("/");
    this.#expression = expressionOf(path, this.#isOfNames ? "[^/]*" : "[^]*");
    this.#pattern = new LinearPattern(`^${this.#expression}$`);
  }

  /** `path` has slashes between its parts. Undefined if the pattern is too costly at this path. */
  matches(path: string): boolean | undefined {
    return this.#pattern.fits(this.#isOfNames ? path.slice(path.lastIndexOf("/") + 1) : path, STEPS);
  }

  /** Whether the pattern fits a path or a folder above it, in one reading of the path. Undefined if that is too costly. */
  covers(path: string): boolean | undefined {
    this.#covering ??= new LinearPattern(`${this.#isOfNames ? "(?:^|/)" : "^"}${this.#expression}(?:/|$)`);
    return this.#covering.fits(path, STEPS);
  }
}

/** The pattern of paths that a text is. `refusal` makes the error of one that is none. */
export function readGlob(source: string, refusal: (why: string) => Error): Glob {
  try {
    return new Glob(source);
  } catch (error) {
    throw error instanceof PatternRefused ? refusal(error.message) : error;
  }
}

/** `anything` is what `**` stands for, where no slash follows it. */
function expressionOf(path: string, anything: string): string {
  let expression = "";
  let depth = 0;
  for (let at = 0; at < path.length; at += 1) {
    const char = path[at]!;
    const isAtStart = at === 0 || path[at - 1] === "/";
    if (isAtStart && path.startsWith("**/", at)) {
      expression += "(?:[^/]+/)*";
      at += 2;
    } else if (path.startsWith("**", at)) {
      expression += anything;
      at += 1;
    } else if (char === "*") expression += "[^/]*";
    else if (char === "?") expression += "[^/]";
    else if (char === "{") {
      depth += 1;
      expression += "(?:";
    } else if (char === "}" && depth > 0) {
      depth -= 1;
      expression += ")";
    } else if (char === "," && depth > 0) expression += "|";
    else expression += /[\^$\\.*+?()[\]{}|/]/.test(char) ? `\\${char}` : char;
  }
  if (depth > 0) throw new PatternRefused("has a { without its }");
  return expression;
}
