import { isIP } from "node:net";
import type { Redact } from "../../../redaction/redact-option.ts";
import { isSecretName } from "../../../redaction/secret-names.ts";
import { isPublicAddress } from "../../../sandboxes/docker/egress/names/public-address.ts";
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

/** Texts of one declaration that are looked at, and characters of each. */
const MAX_TEXTS = 20_000;
const TEXT_LENGTH = 20_000;

interface DeclaredText {
  readonly pointer: string;
  readonly text: string;
  /** The name of the field whose value it is, if it is one: a default, an example, an alternative. */
  readonly field: string | undefined;
}

/**
 * Secrets and internal addresses in the declarations of tools, in the order of the tools. Without a `redact` that finds secrets
 * only values under the names of secrets are found, and addresses.
 */
export async function declaredSecrets(
  tools: readonly Tool[],
  redact: Redact = () => [],
): Promise<readonly DeclaredSecret[]> {
  const found: DeclaredSecret[] = [];
  for (const tool of tools) {
    for (const one of textsOf(declarationOf(tool))) {
      const findings = await redact({ text: one.text, to: "log" });
      const secret = findings[0]?.what ?? (isValueOfSecret(one) ? "a value under a secret's name" : undefined);
      const what = secret === undefined ? internalAddress(one.text) : `a secret (${secret})`;
      if (what !== undefined) found.push({ tool: tool.name, pointer: one.pointer, what });
    }
  }
  return found;
}

function declarationOf(tool: Tool): object {
  const { name, description, instructions, tags } = tool;
  return { name, description, instructions, tags, input: inputSchemaOf(tool), output: outputSchemaOf(tool) };
}

/** Keywords of a schema whose values are values of the field itself. */
const OF_VALUES: ReadonlySet<string> = new Set(["default", "const", "enum", "examples", "example"]);

/** All names and texts of a declaration. */
function textsOf(declaration: object): readonly DeclaredText[] {
  const texts: DeclaredText[] = [];
  const open: { readonly part: unknown; readonly pointer: string; readonly field: string | undefined }[] = [
    { part: declaration, pointer: "", field: undefined },
  ];
  for (let next = open.pop(); next && texts.length < MAX_TEXTS; next = open.pop()) {
    const { part, pointer, field } = next;
    if (typeof part === "string") texts.push({ pointer, field, text: part.slice(0, TEXT_LENGTH) });
    else if (Array.isArray(part))
      for (const [index, child] of [...part.entries()].toReversed())
        open.push({ part: child, pointer: `${pointer}/${index}`, field });
    else if (isFields(part))
      for (const [name, child] of Object.entries(part).toReversed()) {
        const place = `${pointer}/${escaped(name)}`;
        if (child === undefined) continue;
        open.push({ part: child, pointer: place, field: fieldOf(pointer, name, field) });
        if (isPropertyPlace(pointer)) open.push({ part: name, pointer: place, field: undefined });
      }
  }
  return texts;
}

function isPropertyPlace(pointer: string): boolean {
  return pointer.endsWith("/properties");
}

/** The field whose schema, or whose value, a child is. */
function fieldOf(pointer: string, name: string, field: string | undefined): string | undefined {
  return isPropertyPlace(pointer) ? name : field;
}

function isValueOfSecret({ pointer, text, field }: DeclaredText): boolean {
  if (field === undefined || text === "" || !isSecretName(field)) return false;
  const [last = "", before = ""] = pointer.split("/").toReversed();
  return OF_VALUES.has(last) || OF_VALUES.has(before);
}

/** Endings of names that only networks of one's own resolve. */
const INTERNAL_NAMES = ["internal", "intranet", "local", "localdomain", "lan", "corp", "home.arpa", "localhost"];
/** What may be an address or the name of a host. */
const HOST = /[\w.:-]{2,253}/g;

/** An address of a network of one's own in a text; undefined if it has none. */
function internalAddress(text: string): string | undefined {
  for (const [word] of text.matchAll(HOST)) {
    const host = word.replace(/^[.:]{1,253}|[.:]{1,253}$/g, "").toLowerCase();
    const [name = "", port = ""] = isIP(host) === 6 ? [host] : host.split(":");
    if (isIP(name) !== 0 && !isPublicAddress(name)) return `an internal address (${name})`;
    const isBare = name === "localhost" && port !== "";
    if (isBare || (name.includes(".") && INTERNAL_NAMES.some((ending) => name.endsWith(`.${ending}`))))
      return `an internal address (${name})`;
  }
  return undefined;
}

function escaped(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}
