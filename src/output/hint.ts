import type { Fault } from "../programs/outcome.ts";
import type { ToolSet } from "../tools/tool-set.ts";

/** Names that programs written for node or a browser expect, and what to do without them. */
const ABSENT: ReadonlyMap<string, string> = new Map([
  ...["fetch", "XMLHttpRequest", "WebSocket", "axios"].map(
    (name) => [name, "A program has no network. Everything outside is reached through `tools`."] as const,
  ),
  ...["require", "module", "exports"].map(
    (name) => [name, "A program cannot load modules. Write what is needed into the program."] as const,
  ),
  ...["process", "Deno", "Bun", "global", "__dirname", "__filename", "fs"].map(
    (name) => [name, "A program does not run in node: there are no files, no environment and no process."] as const,
  ),
  ...["window", "document", "localStorage", "navigator"].map(
    (name) => [name, "A program does not run in a browser."] as const,
  ),
  ["Buffer", "There is no Buffer. Work with strings, or with Uint8Array."],
  ["structuredClone", "Use JSON.parse(JSON.stringify(value))."],
  ["setImmediate", "Use setTimeout(callback, 0)."],
  ...["URL", "URLSearchParams", "TextEncoder", "TextDecoder", "atob", "btoa", "AbortController"].map(
    (name) =>
      [
        name,
        `${name} belongs to browsers and node, and is not part of the language. Do it by hand, or let a tool do it.`,
      ] as const,
  ),
  ...["WebAssembly", "SharedArrayBuffer", "Atomics", "WeakRef", "FinalizationRegistry", "Temporal"].map(
    (name) => [name, "It is not available here: a program must do the same each time it is replayed."] as const,
  ),
]);

/** Modules of Python that are often used without being imported. */
const MODULES =
  /^(json|math|re|datetime|time|random|collections|itertools|functools|statistics|string|decimal|operator)$/;

/** Packages of Python by which programs would reach outside. */
const NETWORK_PACKAGES = /^(requests|httpx|aiohttp|urllib3|websockets|boto3|openai|anthropic)\b/;

/** What Python says of those who use what an async function returns as if it were its result. */
const NO_RESULT_YET =
  /'(coroutine|Task|async_generator)' (object (is not|has no|does not)|and )|( and |, not )'(coroutine|Task)'$|^Object of type (coroutine|Task) is not JSON/;

/** What the author of a program can do about a fault, where that can be told. */
export function hintFor(fault: Fault, tools: ToolSet): string | undefined {
  const missing = /^(\w+) is not defined$/.exec(fault.message)?.[1];
  if (missing !== undefined) return ABSENT.get(missing) ?? meantTool(missing, tools);
  const inPython = hintForPython(fault, tools);
  if (inPython !== undefined) return inPython;
  const notFunction = /^tools\.([\w.]+) is not a function$/.exec(fault.message)?.[1];
  if (notFunction !== undefined) return meantTool(notFunction, tools) ?? listTools(tools);
  const onPromise = /^(tools\.[\w.]+\(\.\.\.\))\.(\w+) is not a function$/.exec(fault.message);
  if (onPromise) return `A call returns a promise: (await ${onPromise[1]}).${onPromise[2]}.`;
  const undefinedPart = /^Cannot read properties of undefined \(reading '(\w+)'\)$/.exec(fault.message)?.[1];
  const path =
    undefinedPart === undefined || !fault.excerpt?.includes(undefinedPart)
      ? undefined
      : new RegExp(`tools\\.((?:\\w+\\.)+${undefinedPart})\\b`).exec(fault.excerpt)?.[1];
  if (path !== undefined) return meantTool(path, tools) ?? listTools(tools);
  if (/ is not (a function|iterable)/.test(fault.message) && /(?<!await\s+)\btools\.\w/.test(fault.excerpt ?? ""))
    return "A call returns a promise: await it before using its result.";
  return undefined;
}

/** The same for the words of Python, and of the guest that runs it. */
function hintForPython({ message }: Fault, tools: ToolSet): string | undefined {
  const noTool = /^tools(?:\.([\w.]+))? has no tool '(\w+)'$/.exec(message);
  if (noTool) {
    const name = noTool[1] === undefined ? `${noTool[2]}` : `${noTool[1]}.${noTool[2]}`;
    return meantTool(name, tools) ?? listTools(tools);
  }
  const undefinedName = /^name '(\w+)' is not defined$/.exec(message)?.[1];
  if (undefinedName !== undefined)
    return MODULES.test(undefinedName)
      ? `Import it first: import ${undefinedName}.`
      : (ABSENT.get(undefinedName) ?? meantTool(undefinedName, tools));
  const missingModule = /^No module named '([\w.]+)'$/.exec(message)?.[1];
  if (missingModule !== undefined)
    return NETWORK_PACKAGES.test(missingModule)
      ? "Everything outside is reached through `tools`. Python's standard library is there, and no other package."
      : "Python's standard library is there, and no other package. Write what is needed into the program.";
  if (NO_RESULT_YET.test(message))
    return "An async function returns before its result is there: await it before using what it returns.";
  if (/\bToolCall\b/.test(message)) return "A call returns before its result is there: await it before using it.";
  return undefined;
}

function meantTool(name: string, tools: ToolSet): string | undefined {
  const names = tools.nearestNames(name, "programmatic");
  return names.length === 0 ? undefined : `Did you mean ${names.map((one) => `tools.${one}`).join(" or ")}?`;
}

function listTools(tools: ToolSet): string {
  const names = tools.visibleTo(["programmatic"]).map((tool) => `tools.${tool.name}`);
  const shown = names.slice(0, 12).join(", ");
  return names.length === 0
    ? "There are no tools that programs may call."
    : `There are ${shown}${names.length > 12 ? ` and ${names.length - 12} more` : ""}.`;
}
