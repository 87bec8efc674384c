import { type Options, type Token, tokenizer } from "acorn";

/** Words that may follow `export` and begin a declaration. */
const DECLARING = /^(?:abstract|async|class|const|declare|enum|function|interface|let|namespace|type|var)$/;

/**
 * Makes a module's exports the declarations and values of a function's body: `export` becomes spaces, and
 * `export default` of a value becomes `return`. A function that is exported by default and that the program does not call
 * is returned at the end. Imports of types become spaces. Offsets and lines do not change. Exports that need another module stay as they are. Works on
 * tokens, so that it may be used on TypeScript.
 */
export function unwrapExports(code: string, options: Options): string {
  if (!/export|import/.test(code)) return code;
  const tokens = readTokens(code, options);
  if (tokens === undefined) return code;
  const edits: { readonly start: number; readonly end: number; readonly text: string }[] = [];
  const blank = (start: number, end: number) =>
    edits.push({ start, end, text: code.slice(start, end).replaceAll(/[^\r\n\u2028\u2029]/g, " ") });
  let called: string | undefined;
  let depth = 0;
  for (let index = 0; index < tokens.length; index += 1) {
    const { type, start, end } = tokens[index] as Token;
    if (/^[([{]$|^\$\{$/.test(type.label)) depth += 1;
    else if (/^[)\]}]$/.test(type.label)) depth -= 1;
    // A closing bracket too many: the text is no program.
    if (depth < 0) return code;
    if (depth === 0 && type.label === "import") {
      let from = index + 1;
      while (from < tokens.length && !/^(?:string|import|;)$/.test(tokens[from]?.type.label ?? "")) from += 1;
      const words = tokens.slice(index + 1, from).map((token) => wordAt(code, token));
      const isOfTypes = words[0] === "type" || (words[0] === "{" && words.every(isOfType));
      const { type: at, end: last } = tokens[from] ?? {};
      if (isOfTypes && words.at(-1) === "from" && words.length > 2 && at?.label === "string") blank(start, last ?? end);
    }
    if (depth > 0 || type.label !== "export") continue;
    const word = wordAt(code, tokens[index + 1]);
    if (word === "default") {
      const defaultEnd = tokens[index + 1]?.end ?? end;
      const name = functionName(code, tokens, index + 2);
      if (name !== undefined) {
        blank(start, defaultEnd);
        called = name;
      } else if (isOnSameLine(code, defaultEnd, tokens[index + 2]) && wordAt(code, tokens[index + 2]) !== "class")
        edits.push({ start, end: defaultEnd, text: "return".padEnd(defaultEnd - start) });
    } else if (word === "{") {
      let close = index + 2;
      while (close < tokens.length && tokens[close]?.type.label !== "}") close += 1;
      if (close === tokens.length || wordAt(code, tokens[close + 1]) === "from") continue;
      const list = tokens.slice(index + 2, close).map((token) => wordAt(code, token));
      const at = list.findIndex((one, place) => one === "as" && list[place + 1] === "default");
      if (at > 0) called = list[at - 1];
      blank(start, tokens[close]?.end ?? end);
    } else if (DECLARING.test(word)) blank(start, end);
  }
  const parts: string[] = [];
  let written = 0;
  for (const { start, end, text: part } of edits) {
    parts.push(code.slice(written, start), part);
    written = end;
  }
  const text = parts.join("") + code.slice(written);
  if (called === undefined) return text;
  const isCalled = readTokens(text, options)?.filter((token) => wordAt(text, token) === called).length !== 1;
  return isCalled ? text : `${text}\nreturn ${called};`;
}

/** Whether a name in the braces of an import is a type's: `{ type A, type B as C }`. */
function isOfType(_: string, at: number, words: readonly string[]): boolean {
  return !/^[{,]$/.test(words[at - 1] ?? "") || /^(?:type [\w$]|\})/.test(`${words[at]} ${words[at + 1]}`);
}

function readTokens(code: string, options: Options): Token[] | undefined {
  try {
    return [...tokenizer(code, options)];
  } catch {
    return undefined;
  }
}

function wordAt(code: string, token: Token | undefined): string {
  return token === undefined ? "" : code.slice(token.start, token.end);
}

function functionName(code: string, tokens: readonly Token[], at: number): string | undefined {
  let index = at;
  if (wordAt(code, tokens[index]) === "async") index += 1;
  if (wordAt(code, tokens[index]) !== "function") return undefined;
  const name = tokens[index + 1];
  return name?.type.label === "name" ? wordAt(code, name) : undefined;
}

/** JavaScript ends a `return` at its line. */
function isOnSameLine(code: string, end: number, token: Token | undefined): boolean {
  return token !== undefined && !/[\r\n\u2028\u2029]/.test(code.slice(end, token.start));
}
