/** Words behind which an expression begins. */
const BEFORE_EXPRESSIONS =
  /\b(?:return|typeof|await|yield|case|of|in|else|new|void|delete|throw|default|do|extends|as)$/;
/** Longest of those words, with a character before it. */
const WORD_LENGTH = 11;

/** Signs of what the stripper guesses wrong, and may read twice: the arrow of a function, the condition before one, a statement that takes an expression without a brace. */
const ARROW = /=>/g;
const CONDITION = /\?\s*(?:[(</]|async)/g;
const CONTROL = /\b(?:if|while|for|with)\b/g;

/**
 * Most often that the stripper of types may have to guess what it reads, and read it again where it was wrong: behind `<`
 * where an expression begins, and behind `? (`. Each guess within another doubles its time, so they are counted, wherever
 * they stand: what is a string or a regular expression, only the stripper knows.
 */
export function countGuesses(code: string): number {
  let generics = 0;
  let afterBrackets = 0;
  for (let at = code.indexOf("<"); at >= 0; at = code.indexOf("<", at + 1)) {
    const before = characterBefore(code, at);
    if (before === ")") afterBrackets += 1;
    else if (before === "expression") generics += 1;
  }
  return (
    generics +
    Math.min(afterBrackets, countOf(CONTROL, code)) +
    Math.min(countOf(CONDITION, code), countOf(ARROW, code))
  );
}

/** What stands before a place: an expression may begin there, a bracket ends, or something else does. */
function characterBefore(code: string, place: number): "expression" | ")" | "operand" {
  let at = place;
  while (at > 0 && /\s/.test(code.charAt(at - 1))) {
    at -= 1;
    // Behind a comment nothing is known.
    if (code[at] === "\n" || code[at] === "\r") return "expression";
  }
  const character = code.charAt(at - 1);
  if (character === ")") return ")";
  if (BEFORE_EXPRESSIONS.test(code.slice(Math.max(0, at - WORD_LENGTH), at))) return "expression";
  return /[\w$\]"'`\u0080-\uffff]/.test(character) ? "operand" : "expression";
}

function countOf(pattern: RegExp, code: string): number {
  return code.match(pattern)?.length ?? 0;
}
