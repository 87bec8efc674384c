import { fieldOf, isFields, textOf } from "../../values/fields.ts";
import { parsedJson } from "../../values/json/json-text.ts";

/** Longest answer that is looked at, in UTF-16 code units. */
const LONGEST = 64 * 1024;
/** What models write before a call in the forms that servers read. */
const MARK =
  /<(?:[\w-]{1,20}:)?(?:tool_calls?|function_calls?|invoke|function)[ >=]|<\|(?:tool|python)_|\[TOOL_CALLS\]|```tool_code/;

/**
 * Whether an answer ends with a call of a tool in words: its server has not read the call, so nothing was made of it, and it is
 * no answer either.
 */
export function endsWithCall(answer: string, tools: Iterable<string>): boolean {
  const text = answer.trim();
  if (text.length > LONGEST) return false;
  const start = text.search(MARK);
  // With and without what stands before a dot, as in `default_api.search`.
  const words = () => [/[\w.-]+/g, /[\w-]+/g].flatMap((word) => text.slice(start).match(word) ?? []);
  const names = new Set(start < 0 ? bareCall(text) : /[>\]}`]$/.test(text) ? words() : []);
  // Providers are told names without dots.
  return [...tools].some((tool) => names.has(tool) || names.has(tool.replaceAll(".", "_")));
}

/** The name in JSON of a call and nothing else. */
function bareCall(text: string): readonly string[] {
  const call = parsedJson(text.replace(/^```(?:json)?\n([^]*)\n```$/, "$1"));
  const name = textOf(call, "name");
  return name !== undefined && isFields(fieldOf(call, "arguments") ?? fieldOf(call, "parameters")) ? [name] : [];
}
