import { homedir } from "node:os";
import { isFields, textOf } from "../../../base/index.ts";
import { invalidFile } from "../../json-file.ts";

/** What the places of variables in a configuration file stand for. */
export interface Variables {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The folder of the project that the file belongs to. */
  readonly folder: string;
}

const PLACE = /\$\{([^{}]{0,256})\}/g;

/**
 * Text with the values of its variables: `${VAR}`, `${VAR:-default}`, `${env:VAR}`, `${workspaceFolder}`, `${userHome}`. Throws
 * an `Error` that names the variable that is not set or not known. A value is not searched for variables again.
 */
export function expandVariables(text: string, variables: Variables): string {
  const other = text.replaceAll(PLACE, " ");
  if (other.includes("${"))
    throw new Error(
      "${ begins a variable that has no end, more than 256 characters, or braces within it: variables are not nested",
    );
  return text.replaceAll(PLACE, (whole, inner: string) => valueOf(whole, inner, variables));
}

/** A value with the variables in all its texts. Throws `option_invalid`, with the place of the text and no value. */
export function expandWithin(place: string, value: unknown, variables: Variables): unknown {
  if (typeof value === "string")
    try {
      return expandVariables(value, variables);
    } catch (error) {
      throw invalidFile(place, (error as Error).message);
    }
  if (Array.isArray(value)) return value.map((one, index) => expandWithin(`${place}[${index}]`, one, variables));
  if (!isFields(value)) return value;
  const fields = Object.entries(value).map(([name, one]) => [name, expandWithin(`${place}.${name}`, one, variables)]);
  return Object.fromEntries(fields) as object;
}

function valueOf(whole: string, inner: string, { env, folder }: Variables): string {
  if (inner === "workspaceFolder") return folder;
  if (inner === "userHome") return homedir();
  const { name, fallback } =
    /^(?:env:)?(?<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?<fallback>.*))?$/s.exec(inner)?.groups ?? {};
  if (name === undefined)
    throw new Error(
      inner.startsWith("input:")
        ? `${whole} asks for a value in an editor: name a variable of the environment there, like \${TOKEN}`
        : `${whole} is not known here: name a variable of the environment, like \${TOKEN}`,
    );
  const value = textOf(env, name);
  // As a shell has it, an empty variable has its default too.
  if (fallback !== undefined) return value === undefined || value === "" ? fallback : value;
  if (value === undefined) throw new Error(`the variable ${name} is not set. Set it, or write \${${name}:-default}`);
  return value;
}
