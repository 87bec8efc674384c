import type { Fault } from "../outcome.ts";
import { pathOfTool, SEARCH_FUNCTION } from "../../tools/tool-name.ts";
import { missingFieldAdvice } from "../../tools/declarations/output-fields.ts";
import type { Tool } from "../../tools/tool.ts";
import type { ToolSet } from "../../tools/tool-set.ts";

const NO_NETWORK = "A program has no network access. Use `tools` to reach anything outside.";
const NO_MODULES = "A program cannot load modules. Write the code it needs into the program.";
const NO_NODE = "A program does not run in node: there are no files, no environment and no process.";
const NO_FILES =
  "A program has no files. Use `tools` to read or write them; save(name, value) and load(name) keep values between programs.";
const NO_BROWSER = "A program does not run in a browser.";
const NOT_REPLAYED = "It is not available: a program must behave the same each time it is replayed.";
const USE_DATE = "There are no packages. Use Date and Intl.DateTimeFormat; the time zone is UTC.";
const USE_LANGUAGE =
  "There are no packages. Use the language: array methods, Object.groupBy, Object.entries, structuredClone.";
const NO_ZOD =
  "There are no packages. Inputs and results of tools are checked already; check other values with `typeof`.";
const USE_UUID = "There are no packages. Use crypto.randomUUID().";

const NETWORK = adviceFor({
  [NO_NETWORK]: "fetch XMLHttpRequest WebSocket EventSource Request Response Headers FormData axios got ky superagent",
});

/** Names that exist in node, in a browser or by convention, with what to do instead. `docs/programs.md` lists them. */
const ABSENT = new Map([
  ...NETWORK,
  ...adviceFor({
    [NO_MODULES]: "require module exports",
    [NO_NODE]: "process Deno Bun __dirname __filename path os",
    [NO_FILES]: "fs fsPromises readFile readFileSync writeFile writeFileSync",
    [NO_BROWSER]: "window document localStorage navigator",
    [NOT_REPLAYED]: "WebAssembly SharedArrayBuffer Atomics WeakRef FinalizationRegistry",
    [USE_DATE]: "dayjs moment luxon",
    [USE_LANGUAGE]: "_ lodash",
    [NO_ZOD]: "z zod",
    [USE_UUID]: "uuid uuidv4 nanoid",
    "Use globalThis.": "global",
    "Use console.log(…).": "print",
    "Use setTimeout(callback, 0).": "setImmediate",
    "This version of V8 has no Temporal, node 26 has. Use Date and Intl.DateTimeFormat.": "Temporal",
  }),
]);

function adviceFor(names: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  return new Map(Object.entries(names).flatMap(([advice, list]) => list.split(" ").map((name) => [name, advice])));
}

/** What the author of a program can do about a fault; undefined if unknown. `called` are the tools whose results the program has read. */
export function hintFor(
  fault: Fault,
  tools: ToolSet,
  called: readonly string[] = [],
  shown: (tool: Tool) => Tool = (tool) => tool,
): string | undefined {
  const hint = hintForMessage(fault, tools) ?? hintForField(fault, tools, called, shown);
  if (fault.unawaited === undefined) return hint;
  const unawaited = `Did you forget await? Before this error the program used the promise of ${pathOfTool(fault.unawaited)}(…) like a result.`;
  return hint === undefined || hint.startsWith("A call returns a promise") ? unawaited : `${hint} ${unawaited}`;
}

function hintForMessage(fault: Fault, tools: ToolSet): string | undefined {
  const message = fault.message.slice(0, MESSAGE_LENGTH);
  for (const [pattern, advice] of MESSAGES) {
    const found = pattern.exec(message);
    const hint = typeof advice === "string" ? found && advice : found && advice(found, tools, fault);
    if (typeof hint === "string") return hint;
  }
  return undefined;
}

type Advice = (found: RegExpExecArray, tools: ToolSet, fault: Fault) => string | undefined;

const NO_PACKAGES = "Python's standard library is available, and no other package.";

/** Messages of V8 and of Python, each with what to do; the first that has advice counts. */
const MESSAGES: readonly (readonly [RegExp, string | Advice])[] = [
  [
    // Modules that programs often forget to import.
    /^name '(json|math|re|datetime|time|random|collections|itertools|functools|statistics|string|decimal|operator)' is not defined$/,
    ([, name]) => `Import it first: import ${name}.`,
  ],
  [/^globalThis\.(\w+) is not a (?:function|constructor)$/, ([, name = ""]) => ABSENT.get(name)],
  [
    // With quotation marks the name is Python's.
    /^(name ')?(\w+)'? is not defined$/,
    ([, python, name = ""], tools, fault) =>
      (python ? NETWORK : ABSENT).get(name) ?? meantTool(pathAt(name, fault), tools, name),
  ],
  [
    // A server's refusal of a crowd of requests.
    /\b429\b|\btoo many requests\b|\brate.?limit|\bretry-after\b|\basks to wait\b/i,
    (_found, _tools, { name }) =>
      name === "ToolError"
        ? "Make fewer calls at once. If a call fails like this, wait before it is made again: programs have timers."
        : undefined,
  ],
  [
    /^tools(?:\.([\p{ID_Continue}.]+))? has no tool '(\p{ID_Continue}+)'$/u,
    ([, path, name = ""], tools) => meantOrAll(path === undefined ? name : `${path}.${name}`, tools),
  ],
  [
    /^No module named '(?:requests|httpx|aiohttp|urllib3|websockets|boto3|openai|anthropic)\b/,
    `Use \`tools\` to reach anything outside. ${NO_PACKAGES}`,
  ],
  [/^No module named '[\w.]+'$/, `${NO_PACKAGES} Write the code it needs into the program.`],
  [
    // What is awaited, used as if it were its result.
    /\bTool(?:Call|Stream)\b|'(coroutine|Task|async_generator)' (object (is not|has no|does not)|and )|( and |, not )'(coroutine|Task)'$|^Object of type (coroutine|Task) is not JSON/,
    "It returns before its result is ready: await it, and read a stream with `async for item in ...`.",
  ],
  [
    /^tools\.([\p{ID_Continue}.]{1,256}) is not a function or its return value is not (?:async )?iterable$/u,
    ([, name = ""], tools) =>
      tools.get(name) &&
      `tools.${name} gives one result and no stream. Await it: const result = await tools.${name}(…).`,
  ],
  [/^tools\.([\p{ID_Continue}.]{1,256}) is not a function/u, ([, name = ""], tools) => meantOrAll(name, tools)],
  [
    /^tools\.([\p{ID_Continue}.]{1,256}) is not (?:async )?iterable$/u,
    ([, name = ""], tools) =>
      tools.visibleTo(["programmatic"]).some((tool) => tool.name === name)
        ? `Call it: tools.${name}({ … }).`
        : meantOrAll(name, tools),
  ],
  [
    / is not (?:a function|iterable|async iterable)/,
    (_, tools, fault) => {
      const used = usedStream(fault, tools);
      return used && `A stream is read item by item: for await (const item of ${used}(…)).`;
    },
  ],
  [
    /^Cannot read properties of undefined \(reading '(\p{ID_Continue}+)'\)$/u,
    ([, part], tools, { excerpt = "" }) => {
      const [, path] =
        new RegExp(`tools\\.((?:\\p{ID_Continue}+\\.)+${part})(?!\\p{ID_Continue})`, "u").exec(excerpt) ?? [];
      return path && meantOrAll(path, tools);
    },
  ],
  [
    / is not (?:a function|iterable)/,
    (_found, _tools, { excerpt = "" }) =>
      /(?<!await\s+)\btools\.\w/.test(excerpt)
        ? "A call returns a promise: await it before using its result."
        : undefined,
  ],
];

/** The tool that gives a stream and is named in the line of the fault, if it is the only tool there. */
function usedStream({ excerpt = "" }: Fault, tools: ToolSet): string | undefined {
  const named = [...new Set(excerpt.match(/\btools\.[\p{ID_Continue}.]{1,256}/gu))];
  const [only] = named;
  return named.length === 1 && only !== undefined && tools.get(only.slice("tools.".length))?.stream ? only : undefined;
}

/** Hint about a field that a program looks for, if none of the results that it has read has this field. */
function hintForField(
  fault: Fault,
  tools: ToolSet,
  called: readonly string[],
  shown: (tool: Tool) => Tool,
): string | undefined {
  const field = missingFieldOf(fault);
  if (field === undefined) return undefined;
  // The name of a variable is no field of an item.
  const isField = fault.excerpt?.includes(`.${field}`) ?? false;
  const read = [...new Set(called)].flatMap((name) => tools.get(name) ?? []);
  const results = read.filter(({ stream }) => isField || !stream);
  return missingFieldAdvice(field, results.slice(0, RESULTS_READ).map(shown));
}

/** Tools whose results are looked at for a field. */
const RESULTS_READ = 20;

/** The name whose value is missing: `items`, if `length` of `rows.items.length` cannot be read. */
function missingFieldOf({ name: error, message, excerpt = "" }: Fault): string | undefined {
  const iterated = /^(?:[\w$]+\.){0,8}([\w$]+) is not iterable$/.exec(message.slice(0, MESSAGE_LENGTH))?.[1];
  if (iterated !== undefined) return iterated;
  if (error === "KeyError") return /^'(\w{1,128})'$/.exec(message)?.[1];
  const part = /^Cannot read properties of undefined \(reading '([^']{1,128})'\)$/.exec(message)?.[1];
  if (part === undefined) return undefined;
  const before = [`.${part}`, `?.${part}`, `[${part}]`, `["${part}"]`, `['${part}']`]
    .map((written) => excerpt.indexOf(written))
    .filter((at) => at > 0)
    .map((at) => /[\w$]{1,128}$/.exec(excerpt.slice(0, at))?.[0]);
  return before.find((name) => name !== undefined);
}

const MESSAGE_LENGTH = 512;

/** The path that begins with a name in the line of the fault, like `crm.list` of `crm`, or the name alone. */
function pathAt(name: string, { excerpt = "" }: Fault): string {
  return excerpt.match(/[\w.]+/g)?.find((word) => word.startsWith(`${name}.`)) ?? name;
}

function meantTool(name: string, tools: ToolSet, written = `tools.${name}`): string | undefined {
  if (/^search_?tools$/i.test(name))
    return `The search among tools is a function of its own: await ${SEARCH_FUNCTION}("what the tool should do", 5).`;
  const meant = tools.nearestName(name, "programmatic");
  return meant === undefined || `tools.${meant}` === written ? undefined : `Did you mean tools.${meant}?`;
}

function meantOrAll(name: string, tools: ToolSet): string {
  const meant = meantTool(name, tools);
  if (meant !== undefined) return meant;
  const names = tools.visibleTo(["programmatic"]).map((tool) => `tools.${tool.name}`);
  const shown = names.slice(0, 12).join(", ");
  return names.length === 0
    ? "There are no tools that programs may call."
    : `The tools are ${shown}${names.length > 12 ? ` and ${names.length - 12} more, which ${SEARCH_FUNCTION} finds` : ""}.`;
}
