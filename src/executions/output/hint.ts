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

/** Names of the network, for both languages, with what to do instead. */
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

/** Modules of Python that programs often forget to import. */
const MODULES =
  /^(json|math|re|datetime|time|random|collections|itertools|functools|statistics|string|decimal|operator)$/;

/** Packages of Python that use the network. */
const NETWORK_PACKAGES = /^(requests|httpx|aiohttp|urllib3|websockets|boto3|openai|anthropic)\b/;

/** Python's errors for a coroutine or task that is used as if it were its result. */
const NO_RESULT_YET =
  /'(coroutine|Task|async_generator)' (object (is not|has no|does not)|and )|( and |, not )'(coroutine|Task)'$|^Object of type (coroutine|Task) is not JSON/;

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
  return hint === undefined || AWAIT_IT.test(hint) ? unawaited : `${hint} ${unawaited}`;
}

/** V8's sentence for a name that is no function, also where its result was to be iterated. */
const NOT_FUNCTION =
  /^tools\.([\p{ID_Continue}.]{1,256}) is not a function( or its return value is not (?:async )?iterable)?$/u;

/** The tool that gives a stream and is named in the line of the fault, if it is the only tool there. */
function usedStream({ excerpt = "" }: Fault, tools: ToolSet): string | undefined {
  const named = [...new Set(excerpt.match(/\btools\.[\p{ID_Continue}.]{1,256}/gu))];
  const [only] = named;
  return named.length === 1 && only !== undefined && tools.get(only.slice("tools.".length))?.stream ? only : undefined;
}

/** A server's refusal of a crowd of requests. */
const TOO_MANY = /\b429\b|\btoo many requests\b|\brate.?limit|\bretry-after\b|\basks to wait\b/i;
const FEWER =
  "Make fewer calls at once. If a call fails like this, wait before it is made again: programs have timers.";

const AWAIT_IT = /^A call returns a promise/;

function hintForMessage(fault: Fault, tools: ToolSet): string | undefined {
  const missing = /^(\w+) is not defined$/.exec(fault.message)?.[1];
  if (missing !== undefined) return ABSENT.get(missing) ?? meantTool(pathAt(missing, fault), tools, missing);
  const missingField = /^globalThis\.(\w+) is not a (?:function|constructor)$/.exec(fault.message)?.[1];
  if (missingField !== undefined) return ABSENT.get(missingField);
  if (fault.name === "ToolError" && TOO_MANY.test(fault.message.slice(0, MESSAGE_LENGTH))) return FEWER;
  const inPython = hintForPython(fault, tools);
  if (inPython !== undefined) return inPython;
  const [, notFunction, orItsResult] = NOT_FUNCTION.exec(fault.message) ?? [];
  if (notFunction !== undefined && orItsResult !== undefined && tools.get(notFunction))
    return `tools.${notFunction} gives one result and no stream. Await it: const result = await tools.${notFunction}(…).`;
  if (notFunction !== undefined) return meantTool(notFunction, tools) ?? listTools(tools);
  const notCalled = /^tools\.([\p{ID_Continue}.]{1,256}) is not (?:async )?iterable$/u.exec(fault.message)?.[1];
  if (notCalled !== undefined && tools.get(notCalled)) return `Call it: tools.${notCalled}({ … }).`;
  const used = usedStream(fault, tools);
  if (used !== undefined && / is not (a function|iterable|async iterable)/.test(fault.message))
    return `A stream is read item by item: for await (const item of ${used}(…)).`;
  const onPromise = /^(tools\.[\p{ID_Continue}.]+\(\.\.\.\))\.(\w+) is not a function$/u.exec(fault.message);
  if (onPromise) return `A call returns a promise: (await ${onPromise[1]}).${onPromise[2]}.`;
  const undefinedPart = /^Cannot read properties of undefined \(reading '(\p{ID_Continue}+)'\)$/u.exec(
    fault.message,
  )?.[1];
  const path =
    undefinedPart === undefined || !fault.excerpt?.includes(undefinedPart)
      ? undefined
      : new RegExp(`tools\\.((?:\\p{ID_Continue}+\\.)+${undefinedPart})(?!\\p{ID_Continue})`, "u").exec(
          fault.excerpt,
        )?.[1];
  if (path !== undefined) return meantTool(path, tools) ?? listTools(tools);
  if (/ is not (a function|iterable)/.test(fault.message) && /(?<!await\s+)\btools\.\w/.test(fault.excerpt ?? ""))
    return "A call returns a promise: await it before using its result.";
  return undefined;
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

/** Characters of a message that are read for a name. */
const MESSAGE_LENGTH = 512;

function hintForPython(fault: Fault, tools: ToolSet): string | undefined {
  const { message } = fault;
  const noTool = /^tools(?:\.([\p{ID_Continue}.]+))? has no tool '(\p{ID_Continue}+)'$/u.exec(message);
  if (noTool) {
    const name = noTool[1] === undefined ? `${noTool[2]}` : `${noTool[1]}.${noTool[2]}`;
    return meantTool(name, tools) ?? listTools(tools);
  }
  const undefinedName = /^name '(\w+)' is not defined$/.exec(message)?.[1];
  if (undefinedName !== undefined)
    return MODULES.test(undefinedName)
      ? `Import it first: import ${undefinedName}.`
      : (NETWORK.get(undefinedName) ?? meantTool(pathAt(undefinedName, fault), tools, undefinedName));
  const missingModule = /^No module named '([\w.]+)'$/.exec(message)?.[1];
  if (missingModule !== undefined)
    return NETWORK_PACKAGES.test(missingModule)
      ? "Use `tools` to reach anything outside. Python's standard library is available, and no other package."
      : "Python's standard library is available, and no other package. Write the code it needs into the program.";
  if (NO_RESULT_YET.test(message))
    return "An async function returns before its result is ready: await it before using its result.";
  if (/\bToolCall\b/.test(message))
    return "A call returns before its result is ready: await it before using its result.";
  if (/\bToolStream\b/.test(message)) return "Read a stream with `async for item in ...`.";
  return undefined;
}

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

function listTools(tools: ToolSet): string {
  const names = tools.visibleTo(["programmatic"]).map((tool) => `tools.${tool.name}`);
  const shown = names.slice(0, 12).join(", ");
  return names.length === 0
    ? "There are no tools that programs may call."
    : `The tools are ${shown}${names.length > 12 ? ` and ${names.length - 12} more, which ${SEARCH_FUNCTION} finds` : ""}.`;
}
