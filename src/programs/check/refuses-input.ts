import { pathText, validate } from "../../tools/schema.ts";
import { inputFieldsOf } from "../../tools/tool-schemas.ts";
import type { Tool } from "../../tools/tool.ts";
import type { DeclaredType, Kind } from "./declared-tools.ts";

type Fault = { readonly unknown: string } | { readonly missing: string } | { readonly kind: Kind };

/** Values of each kind. Schemas of libraries may take some of a kind that they do not name: `z.coerce.number()` takes `"1"`. */
const SAMPLES: Readonly<Record<Kind, readonly unknown[]>> = {
  string: ["", "1", "true", "text", "2026-01-31", "2026-01-31T10:00:00Z", "[]", "{}"],
  number: [0, 1, 1.5, -1],
  boolean: [true, false],
  array: [[], [1], ["text"]],
  object: [{}],
};

/**
 * Whether the tool's own schema refuses each input with this fault, as the gate will ask it: the declarations say what its
 * JSON Schema says, and a schema of a library may take more.
 */
export async function refusesInput(tool: Tool, path: DeclaredType["path"], fault: Fault): Promise<boolean> {
  try {
    if ("unknown" in fault) {
      const fields = inputFieldsOf(tool, inputAt(path, { [fault.unknown]: 1 }));
      return fields?.unknown.some((one) => one.path.at(-1) === fault.unknown) ?? false;
    }
    const isMissing = "missing" in fault;
    const place = pathText(isMissing ? [...path, fault.missing] : path);
    for (const sample of isMissing ? [{}] : SAMPLES[fault.kind]) {
      const validated = await validate(tool.input, inputAt(path, sample));
      const isRefused = !validated.ok && validated.issues.some((issue) => isAbout(issue, place, fault));
      if (!isRefused) return false;
    }
    return true;
  } catch {
    // The gate will say what is wrong with it.
    return false;
  }
}

/** A schema may tell of a missing field at the object that lacks it. */
function isAbout(issue: { readonly path: string; readonly message: string }, place: string, fault: Fault): boolean {
  if (issue.path === place) return true;
  return "missing" in fault && place.startsWith(issue.path) && issue.message.includes(fault.missing);
}

function inputAt(path: DeclaredType["path"], value: unknown): unknown {
  return path.reduceRight<unknown>((inner, key) => (typeof key === "number" ? [inner] : { [key]: inner }), value);
}
