import type { Tool } from "../../tools/tool.ts";

/** Maximum of namespaces, and of names in a namespace, that are tried. */
const NAMESPACES_SHOWN = 200;
const NAMES_SHOWN = 12;
/** Part of the names that is kept when they do not fit. */
const KEPT = 0.7;

/** What tools there are, for a model that has to search for them: namespaces, how many tools each has, and what is in them, as much as fits. */
export function describeNamespaces(tools: readonly Tool[], fits: (text: string) => boolean): string {
  const namespaces = namespacesOf(tools);
  for (let names = NAMES_SHOWN, shown = NAMESPACES_SHOWN; shown >= 1;) {
    const text = textOf(namespaces, Math.floor(shown), Math.floor(names));
    if (fits(text)) return text;
    if (names >= 1) names *= KEPT;
    else shown *= KEPT;
  }
  return "";
}

interface Namespace {
  readonly name: string;
  readonly tools: number;
  /** Names directly in the namespace: of inner namespaces, or of tools. */
  readonly inner: ReadonlySet<string>;
}

/** The namespaces, the largest first. Tools without a namespace are in a namespace without a name. */
function namespacesOf(tools: readonly Tool[]): readonly Namespace[] {
  const paths = tools.map(({ name }) => (name.includes(".") ? name.split(".") : ["", name]));
  return [...Map.groupBy(paths, ([first = ""]) => first)]
    .map(([name, members]) => ({
      name,
      tools: members.length,
      inner: new Set(members.map(([, second = ""]) => second)),
    }))
    .toSorted((a, b) => b.tools - a.tools || (a.name < b.name ? -1 : 1));
}

function textOf(namespaces: readonly Namespace[], shown: number, names: number): string {
  const lines = namespaces.slice(0, shown).map(({ name, tools, inner }) => {
    const listed = [...inner].slice(0, names).join(", ");
    const more = inner.size > names ? `${listed === "" ? "" : ", "}…` : "";
    const what = names === 0 ? "" : `: ${listed}${more}`;
    return `${name === "" ? "tools" : `tools.${name}`}.* (${tools})${what}`;
  });
  const rest = namespaces.length - lines.length;
  return [...lines, ...(rest > 0 ? [`and ${rest} more namespaces`] : [])].join("\n");
}
