import type { UnparsedProgram } from "./parsed-program.ts";
import { linesOf } from "../../guest/source-lines.ts";
import { NOT_ASYNC } from "./find-misused-call.ts";

const PYTHON =
  "This is Python, and the program must be JavaScript. Write it as the body of an async JavaScript function.";
const SHELL =
  "This is a command for a shell, and the program must be JavaScript. There is no shell: call tools, and compute with JavaScript.";
const PROSE = "This is prose and no program. Send only the program's source code, or put it into one fenced block.";

/** Replaces the parser's words if a text is plainly something other than JavaScript, and says what it is. */
export function explainSyntax(code: string, unread: UnparsedProgram): UnparsedProgram {
  const { fault, position } = unread;
  if (fault.code !== "syntax") return unread;
  const explained = (message: string): UnparsedProgram => ({ fault: { ...fault, message }, position });
  const lines = linesOf(code);
  if (lines.some(isPython)) return explained(PYTHON);
  const first = lines.find((line) => line.trim() !== "") ?? "";
  if (COMMAND.test(first)) return explained(SHELL);
  if (isProse(first)) return explained(PROSE);
  if (position === undefined) return unread;
  if (lines[position.line - 1]?.[position.column - 1] === "@")
    return explained("A program cannot have decorators. Call the function with what it is to wrap.");
  const before = lines[position.line - 1]?.slice(0, position.column - 1).trimEnd() ?? "";
  return /(?:^|[^\w$.])await$/.test(before.slice(-6))
    ? { fault: { ...fault, code: "await_not_async", message: NOT_ASYNC }, position }
    : unread;
}

/** The beginning of a line for a shell. */
const COMMAND =
  /^\s*(?:#!.{0,40}sh\b|[$>] |(?:sudo|curl|wget|cd|ls|cat|echo|grep|sed|awk|find|mkdir|rm|cp|mv|npm|npx|pip|pip3|git|python3?|node|bash|sh) [\w"'$./~-])/;

/** Words that begin a line of Python that ends with a colon. */
const OPENING = new Set("async,class,def,elif,else,except,finally,for,if,try,while,with".split(","));

/** Whether a line can only be Python. It ignores strings and comments of JavaScript, so it is for texts that do not parse. */
function isPython(line: string): boolean {
  const text = (line.split("#", 1)[0] ?? "").trim();
  const first = /^[a-z]{1,8}/.exec(text)?.[0] ?? "";
  if (text.endsWith(":") && OPENING.has(first)) return true;
  if (first === "from" && text.includes(" import ")) return true;
  if (first === "import" && /^[A-Za-z_][\w.]*$/.test(text.slice("import ".length))) return true;
  return /\bfor [A-Za-z_]\w{0,64} in |\bprint\(f["']/.test(text);
}

/** Words that begin a line of code. All other words of prose may. */
const CODE = new Set(
  "async,await,class,const,do,enum,export,for,function,if,import,interface,let,new,return,switch,throw,try,type,var,while".split(
    ",",
  ),
);
const FEWEST_WORDS = 4;

/** Whether a line is a sentence: words with nothing between them that code needs. */
function isProse(line: string): boolean {
  if (/[={}[\];<>\\]/.test(line)) return false;
  const words = line.trim().split(/[ \t]/);
  const plain = words.filter((word) => /^["'(]?\p{L}[\p{L}'’-]{0,40}[.,:!?)"']{0,3}$/u.test(word));
  return words.length >= FEWEST_WORDS && plain.length * 4 >= words.length * 3 && !CODE.has(words[0] ?? "");
}
