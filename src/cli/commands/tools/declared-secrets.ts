import { isIP } from "node:net";
import type { Redact } from "../../../redaction/redact-option.ts";
import { isSecretName } from "../../../redaction/secret-names.ts";
import { isPublicAddress } from "../../../untrusted/public-address.ts";
import { outputSchemaOf, inputSchemaOf } from "../../../tools/tool-schemas.ts";
import type { Tool } from "../../../tools/tool.ts";
import { isFields } from "../../../values/fields.ts";

/** What of a declaration should not leave: providers cache and log declarations. */
export interface DeclaredSecret {
  readonly tool: string;
  /** JSON Pointer of the text, from the tool's declaration. */
  readonly pointer: string;
  /** What it is, without the text itself. */
  readonly what: string;
}

/** Different texts of one declaration that are looked at. */
const MAX_TEXTS = 20_000;
/** Texts that are remembered over all declarations, and the longest of them: most are keywords of schemas. */
const REMEMBERED = { texts: 10_000, characters: 64 } as const;

/** Keywords of a schema whose own names are fields, or parts that are referred to. */
const OF_FIELDS: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "$defs",
  "definitions",
  "dependentRequired",
  "dependentSchemas",
]);
/** Keywords of a schema whose values are values of the field itself. */
const OF_VALUES: ReadonlySet<string> = new Set(["default", "const", "enum", "examples", "example"]);

/** A place in a declaration. */
interface Place {
  readonly above: Place | undefined;
  readonly name: string;
  /** Its name is a secret, and is not shown. */
  isSecret: boolean;
}

/** A part of a declaration that has not been looked at. */
interface Part {
  readonly part: unknown;
  readonly at: Place | undefined;
  /** What its names are: keywords of a schema, fields, or those of a value. */
  readonly role: "schema" | "fields" | "value";
  /** The field whose schema or value it is. */
  readonly field: string | undefined;
  readonly isName?: boolean;
}

/**
 * Secrets and internal addresses in the declarations of tools, in the order of the tools. Without a `redact` that finds secrets
 * only values under the names of secrets are found, and addresses. A declaration with too many texts is one of the results.
 */
export async function declaredSecrets(
  tools: readonly Tool[],
  redact: Redact = () => [],
): Promise<readonly DeclaredSecret[]> {
  const known = new Map<string, string | undefined>();
  const found: DeclaredSecret[] = [];
  for (const tool of tools)
    for (const { at, what } of await findingsIn(declarationOf(tool), redact, known))
      found.push({ tool: tool.name, pointer: pointerOf(at), what });
  return found;
}

function declarationOf(tool: Tool): object {
  const { name, description, instructions, tags } = tool;
  return { name, description, instructions, tags, input: inputSchemaOf(tool), output: outputSchemaOf(tool) };
}

interface Finding {
  readonly at: Place | undefined;
  readonly what: string;
}

/** `known` has the secrets of texts that were looked at before. */
async function findingsIn(
  declaration: object,
  redact: Redact,
  known: Map<string, string | undefined>,
): Promise<readonly Finding[]> {
  const found: Finding[] = [];
  const looked = new Set<string>();
  const open: Part[] = [{ part: declaration, at: undefined, role: "schema", field: undefined }];
  for (let next = open.pop(); next; next = open.pop()) {
    const { part, at, isName } = next;
    if (typeof part !== "string") {
      for (const inner of partsOf(next).toReversed()) open.push(inner);
      continue;
    }
    looked.add(part);
    if (looked.size > MAX_TEXTS)
      return [...found, { at, what: `${MAX_TEXTS} texts before this one were looked at, and none from here on` }];
    const secret = (await secretIn(part, redact, known)) ?? valueOfSecret(next);
    if (at && isName && secret !== undefined) at.isSecret = true;
    const what = secret === undefined ? internalAddress(part) : `a secret (${secret})`;
    if (what !== undefined) found.push({ at, what });
  }
  return found;
}

/** What is in a part, each name before what it names. */
function partsOf({ part, at, role, field }: Part): readonly Part[] {
  if (Array.isArray(part))
    return part.map((one: unknown, index) => ({ part: one, at: below(at, String(index)), role, field }));
  if (!isFields(part)) return [];
  return Object.entries(part).flatMap(([name, one]): Part[] => {
    if (one === undefined) return [];
    const place = below(at, name);
    const inner = role === "schema" ? roleUnder(name) : role === "fields" ? "schema" : "value";
    return [
      { part: name, at: place, role, field: undefined, isName: true },
      { part: one, at: place, role: inner, field: role === "schema" ? field : name },
    ];
  });
}

function roleUnder(keyword: string): Part["role"] {
  return OF_FIELDS.has(keyword) ? "fields" : OF_VALUES.has(keyword) ? "value" : "schema";
}

async function secretIn(
  text: string,
  redact: Redact,
  known: Map<string, string | undefined>,
): Promise<string | undefined> {
  if (known.has(text)) return known.get(text);
  const secret = (await redact({ text, to: "log" }))[0]?.what;
  if (text.length <= REMEMBERED.characters && known.size < REMEMBERED.texts) known.set(text, secret);
  return secret;
}

function valueOfSecret({ part, role, field, isName }: Part): string | undefined {
  const isValue = role === "value" && !isName && part !== "" && field !== undefined;
  return isValue && isSecretName(field) ? "a value under a secret's name" : undefined;
}

function below(above: Place | undefined, name: string): Place {
  return { above, name, isSecret: false };
}

function pointerOf(place: Place | undefined): string {
  const names: string[] = [];
  for (let at = place; at; at = at.above)
    names.push(at.isSecret ? "…" : at.name.replaceAll("~", "~0").replaceAll("/", "~1"));
  return names
    .map((name) => `/${name}`)
    .toReversed()
    .join("");
}

/** Endings of names that only networks of one's own resolve. */
const INTERNAL_NAMES = ["internal", "intranet", "local", "localdomain", "lan", "corp", "home.arpa", "localhost"];
/** A name without a dot that is a host by what stands before or behind it. */
const BARE_HOST = /\/\/(localhost|intranet)(?![\w.-])|(localhost):\d/i;
/** Longest name of a host, and what may stand around it. */
const HOST_LENGTH = 260;

/** An address of a network of one's own in a text; undefined if it has none. */
function internalAddress(text: string): string | undefined {
  for (const word of text.toLowerCase().split(/[^\w.:-]/)) {
    const whole = trimmed(word);
    // Behind a colon stands a port, or another host; a hyphen is of a name, or between two addresses.
    const names = isIP(whole) === 6 ? [whole] : word.split(":").map(trimmed);
    const internal = names.flatMap((name) => [name, ...name.split("-")]).find(isInternal);
    if (internal !== undefined) return `an internal address (${internal})`;
  }
  const [, address, atPort] = BARE_HOST.exec(text) ?? [];
  const bare = address ?? atPort;
  return bare === undefined ? undefined : `an internal address (${bare.toLowerCase()})`;
}

/** A word without what ends a sentence; empty if it is too long for a host. */
function trimmed(word: string): string {
  return word.length > HOST_LENGTH ? "" : word.replace(/^[.:]{1,260}|[.:]{1,260}$/g, "");
}

function isInternal(name: string): boolean {
  if (isIP(name) !== 0) return !isPublicAddress(name);
  return name.includes(".") && INTERNAL_NAMES.some((ending) => name.endsWith(`.${ending}`));
}
