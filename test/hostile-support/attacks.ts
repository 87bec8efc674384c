import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Outcome } from "../../src/index.ts";
import type { GuestFace } from "../../src/runtime/testing.ts";

/** One file under `hostile/` or `hostile-docker/`. Its first lines are comments that say what it tries and how it must end. */
export interface Attack {
  /** The file's name without its ending; what stands before the first hyphen is its class. */
  readonly name: string;
  /** A program; a guest that is a script of frames; or a whole engine. */
  readonly kind: "program" | "frames" | "engine";
  readonly path: string;
  readonly tries: string;
  /** Endings that would be truthful; one as a rule. */
  readonly endings: readonly string[];
  /** Handlers that must have run so many times, by the names of their tools. */
  readonly runs: ReadonlyMap<string, number>;
  /** What the journal must hold: `violation`, `restart`, or `refused CODE`. */
  readonly records: readonly string[];
}

export function readAttacks(name: "hostile" | "hostile-docker" = "hostile"): readonly Attack[] {
  const folder = fileURLToPath(new URL(`../${name}/`, import.meta.url));
  return readdirSync(folder)
    .filter((file) => /\.(js|py)$/.test(file))
    .map((file): Attack => {
      const path = `${folder}${file}`;
      const head = readFileSync(path, "utf8").split("\n", 8);
      const notes = head.flatMap((line) => {
        const [, word, text] = /^(?:\/\/|#) (\w+): (.*)$/.exec(line) ?? [];
        return word === undefined || text === undefined ? [] : [{ word, text }];
      });
      const lines = (wanted: string) => notes.flatMap(({ word, text }) => (word === wanted ? [text] : []));
      const [tries] = lines("Tries");
      const [ends] = lines("Ends");
      if (tries === undefined || ends === undefined)
        throw new Error(`${file} does not say what it tries and how it ends.`);
      return {
        name: file.replace(/(\.\w+)*\.(js|py)$/, ""),
        kind: file.endsWith(".frames.js") ? "frames" : file.endsWith(".engine.js") ? "engine" : "program",
        path,
        tries,
        endings: ends.split(" | "),
        runs: new Map(
          lines("Runs").flatMap((line) =>
            line.split(", ").map((run): [string, number] => [run.split(" ")[0] ?? "", Number(run.split(" ")[1])]),
          ),
        ),
        records: lines("Records"),
      };
    });
}

/** The first attack of each class and kind. */
export function firstOfEachClass(attacks: readonly Attack[]): readonly Attack[] {
  const groupOf = ({ kind, name }: Attack) => `${kind} ${name.split("-", 1)[0]}`;
  const groups = new Set<string>();
  return attacks.filter((attack) => groups.size < groups.add(groupOf(attack)).size);
}

/** The program of an attack: its file as it lies there, or, for one that would make a large file, what that file makes. */
export async function programOf({ path }: Attack): Promise<string> {
  if (!path.endsWith(".source.js")) return readFileSync(path, "utf8");
  return ((await import(pathToFileURL(path).href)) as { readonly default: () => string }).default();
}

export async function guestOf({ path }: Attack): Promise<() => GuestFace> {
  return ((await import(pathToFileURL(path).href)) as { readonly default: () => GuestFace }).default;
}

/** Whether an execution ended in one of the ways that its attack declares. */
export function endsAsDeclared({ endings }: Attack, outcome: Outcome): boolean {
  return endings.some((ending) => isEnding(ending, outcome));
}

/** `completed JSON`, `failed NAME-OR-CODE: part of the message`, `stopped LIMIT`, `crashed CODE`; what is left out may be anything. */
function isEnding(ending: string, outcome: Outcome): boolean {
  const [, type = "", rest = ""] = /^(\w+) ?(.*)$/.exec(ending) ?? [];
  if (type !== outcome.type) return false;
  switch (outcome.type) {
    case "completed":
      return rest === "" || JSON.stringify(outcome.value) === JSON.stringify(JSON.parse(rest));
    case "failed": {
      const { name, code, message } = outcome.fault;
      const [, word = "", part = ""] = /^(\w*)(?:: (.*))?$/.exec(rest) ?? [];
      return (word === "" || word === name || word === code) && message.includes(part);
    }
    case "stopped":
      return rest === outcome.limit;
    case "crashed":
      return rest === outcome.code;
    case "cancelled":
    case "waiting":
      return true;
  }
}
