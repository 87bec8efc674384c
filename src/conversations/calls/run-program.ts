import type { ProgramDeclaration, ToolDeclaration } from "../../models/model.ts";
import { PROGRAM_SCHEMA } from "../../models/turn/program-input.ts";
import { RUN_PROGRAM, SEARCH_TOOLS } from "../../tools/tool-name.ts";
import type { Limits } from "../../executions/limits.ts";
import { countTokens, hasAtMostTokens } from "../../tools/count-tokens.ts";
import { declareTools, declareWholeTypes, type ProgramLanguage } from "../../tools/declarations/declarations.ts";
import { SEARCH_INPUT } from "../../tools/search/search-tool.ts";
import type { ToolSearch } from "../../tools/search/tool-search.ts";
import type { Tool } from "../../tools/tool.ts";
import { programBoundaries } from "../prompt/instructions.ts";

export const NO_SOURCE = `${RUN_PROGRAM} takes the program's source as text in the field "code", and got none.`;

const AFRESH = "Each run begins afresh.";
const SHARES = "Runs share only what await save(name, value) keeps and await load(name) reads.";

const DIRECT = "DIRECT";
const CALL_DIRECTLY = "For one call with a small result, call the tool directly if you can. ";

const BOUNDARIES = "BOUNDARIES";

const RULES: Readonly<Record<ProgramLanguage, string>> = {
  javascript: `Runs a program in JavaScript and gives back what it returns and prints. The program is the body of an async function: use await, and end with return.

Use it if an answer takes more than a few calls, or large results: loop, filter, join and count, call independent things at once with Promise.all, and return only what the answer needs. ${DIRECT}${AFRESH} ${BOUNDARIES} There are timers (setTimeout), but no network, files or modules; everything else is reached through tools:`,
  python: `Runs a program in Python and gives back what it returns and prints. The program is a module with await at its top level; its last expression is what it returns.

Use it if an answer takes more than a few calls, or large results: loop, filter, join and count, call independent things at once with asyncio.gather, and end with only what the answer needs. ${DIRECT}${AFRESH} ${BOUNDARIES} There is asyncio.sleep, but no network and no package beyond the standard library; everything else is reached through tools:`,
};

/** What the words "needs approval" of a stub mean. */
const APPROVALS = "If a call needs approval, a person decides: the call waits, and a denial throws with the reason.";

const STREAMS: Readonly<Record<ProgramLanguage, string>> = {
  javascript:
    "A call that gives an AsyncIterable gives a stream of items, as many as there are: read it with for await (const item of tools.name(input)), keep only what you need of each item, and break when you have enough.",
  python:
    "A call that gives an AsyncIterator gives a stream of items, as many as there are: do not await it, read it with async for item in tools.name(...), keep only what you need of each item, and break when you have enough.",
};

const SEARCHED: Readonly<Record<ProgramLanguage, string>> = {
  javascript: `They are too many to be listed. Find them by ${SEARCH_TOOLS}, or in a program, and call them as their stubs say:
const found = await searchTools("invoices of a customer", 5); // [{ name, stub, description }]`,
  python: `They are too many to be listed. Find them by ${SEARCH_TOOLS}, or in a program, and call them as their stubs say:
found = await searchTools("invoices of a customer", 5)  # [{name, stub, description}]`,
};

const SEARCH: ToolDeclaration = {
  name: SEARCH_TOOLS,
  description: `Finds tools for programs by what they do, and gives back a JSON array of { name, stub, description }, empty if nothing is close. The stub says how a program calls the tool. Search before you write a program with tools that you have not seen; search again in other words if nothing fits.`,
  inputSchema: SEARCH_INPUT,
  callers: ["direct"],
};

/** The search if only tools that the model calls directly are searched for. */
export const SEARCH_DIRECT: ToolDeclaration = {
  ...SEARCH,
  description:
    "Finds tools by what they do, and gives back a JSON array of { name, description }, empty if nothing is close. You can call them from then on. Search before you say that there is no tool; search again in other words if nothing fits.",
};

/** Part of the tokens beside the rules that the stubs of pinned tools may take. The rest is for the namespaces. */
const PINNED_SHARE = 0.5;
/** Tokens for pinned tools and namespaces if the rules alone spend nearly all. */
const LEAST_TOKENS = 200;
/** Tokens by which a provider's form of two tools is longer than their JSON. */
const FORM_TOKENS = 40;

/** What a model is told so that it can write programs. */
export interface ProgramDeclarations {
  readonly runProgram: ProgramDeclaration;
  /** The search among tools, if they are too many to be listed. */
  readonly search: ToolDeclaration | undefined;
}

export interface ProgramSituation {
  readonly tenant: string;
  readonly limits: Limits;
  /** A tool as the tenant is shown it, with what its results were like; as it is by default. */
  readonly shown?: ((tool: Tool) => Tool) | undefined;
  /** Whether later programs can load what earlier ones keep. */
  readonly shares: boolean;
}

/**
 * The tool that runs a program. Its description has the typed stubs of the tools that programs may call, or, if the
 * stubs exceed `stubTokens`, the stubs of pinned tools and the namespaces of the others. `run_program` and
 * `search_tools` together take no more than `stubTokens`.
 */
export function declarePrograms(
  search: ToolSearch,
  language: ProgramLanguage,
  { tenant, limits, shares, shown = (tool) => tool }: ProgramSituation,
): ProgramDeclarations {
  const tools = search.tools.visibleTo(["programmatic"]);
  const callable = shares ? search.tools.visibleTo(["direct", "programmatic"]) : tools;
  const streams = tools.some(({ stream }) => stream) ? `${STREAMS[language]} ` : "";
  const approvals = tools.some(({ approvable }) => approvable) ? ` ${APPROVALS}` : "";
  const isDirect = shares && tools.some(({ allowedCallers }) => allowedCallers.includes("direct"));
  const rules = RULES[language]
    .replace(DIRECT, isDirect ? CALL_DIRECTLY : "")
    .replace(AFRESH, streams + (shares ? SHARES : AFRESH))
    .replace(BOUNDARIES, `${programBoundaries(limits, { shares, tools: callable })}${approvals}`);
  const withStubs = (stubs: string) => declaration(rules, stubs === "" ? "(there are none)" : stubs);
  const fits = (text: string) => fitsIn(search.stubTokens, withStubs(text));
  const seen = tools.map(shown);
  const hasNews = seen.some(({ observed }) => observed !== undefined);
  // A tool that is listed without the type of its result is better than one that has to be searched for.
  const stubs =
    declareWholeTypes(seen, language, fits) ?? (hasNews ? declareWholeTypes(tools, language, fits) : undefined);
  if (stubs !== undefined) return { runProgram: withStubs(stubs), search: undefined };
  const found = search.visibleTo({ caller: "programmatic", tenant });
  const pinned = found.filter((tool) => tool.pinned);
  const least = countTokens(declaredText(declaration(rules, SEARCHED[language]), SEARCH)) + FORM_TOKENS;
  const allowed = Math.max(search.stubTokens, least + LEAST_TOKENS);
  const pinnedStubs =
    pinned.length === 0
      ? []
      : [declareTools(pinned.map(shown), { language, budgetTokens: Math.floor((allowed - least) * PINNED_SHARE) })];
  const declare = (...namespaces: readonly string[]) =>
    declaration(rules, SEARCHED[language], ...pinnedStubs, ...namespaces);
  const namespaces = describeNamespaces(found, (text) => fitsIn(allowed, declare(text), SEARCH));
  return { runProgram: namespaces === "" ? declare() : declare(namespaces), search: SEARCH };
}

function declaration(...parts: readonly string[]): ProgramDeclaration {
  return { name: RUN_PROGRAM, description: parts.join("\n\n") };
}

function fitsIn(tokens: number, ...declared: readonly [ProgramDeclaration, ToolDeclaration?]): boolean {
  return hasAtMostTokens(declaredText(...declared), tokens - FORM_TOKENS);
}

function declaredText(runProgram: ProgramDeclaration, search?: ToolDeclaration): string {
  return JSON.stringify([{ ...runProgram, input: PROGRAM_SCHEMA }, search ?? []].flat());
}

const NAMESPACES_SHOWN = 200;
const NAMES_SHOWN = 12;
const KEPT = 0.7;

/** What tools there are, for a model that has to search for them: namespaces, how many tools each has, and what is in them, as much as fits. */
function describeNamespaces(tools: readonly Tool[], fits: (text: string) => boolean): string {
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
