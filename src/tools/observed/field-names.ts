/*
 * Which names of a result are names of fields, and which are data: ids, addresses, dates, amounts, texts. A name of a
 * field goes into stubs that models read, so what is not clearly one is data.
 */

const NAME_LENGTH = 40;
const WORDS = 6;
const WORD_LENGTH = 16;
/** Digits at the end of a word, as in `sha256`. */
const DIGITS = 3;
/** Consonants in a row: English has five, as in `lengths`; random letters soon have more. */
const CONSONANTS = 6;
/** From this length on, a word with more than one of the rarest letters is random. */
const LONG_WORD = 10;
const HEX = /^[0-9a-f]{8,}$/i;

const MARKED = /^(?:\$|@|_{1,2})?([A-Za-z][A-Za-z0-9]*(?:[_-][A-Za-z0-9]+)*)$/;
const CAMEL = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+/g;
/** Capitals alone, as of currencies, countries and shares. */
const CODE = /^[A-Z]{1,3}$/;
const KNOWN_CODES = new Set(
  "ID IP OS URL URI API CPU GPU RAM SSL TLS DNS MAC ARN ETA SKU VAT UTC XML CSS SQL TTL TAG KEY SUM AVG MIN MAX AGE DAY ZIP".split(
    " ",
  ),
);

/** Names that were looked at. Each result of a tool has the same. */
const nameCache = new Map<string, boolean>();
const KNOWN = 5000;

/** Whether a name of a result is the name of a field. */
export function isFieldName(name: string): boolean {
  if (name.length > NAME_LENGTH || name === "__proto__") return false;
  const before = nameCache.get(name);
  if (before !== undefined) return before;
  if (nameCache.size >= KNOWN) nameCache.clear();
  const is = looksLikeField(name);
  nameCache.set(name, is);
  return is;
}

function looksLikeField(name: string): boolean {
  const bare = MARKED.exec(name)?.[1];
  if (bare === undefined || (CODE.test(bare) && bare.length > 1 && !KNOWN_CODES.has(bare))) return false;
  const parts = bare.split(/[_-]/);
  return wordsOf(bare).length <= WORDS && parts.every(isPart) && parts.filter(hasDigit).length <= 1;
}

/** `user1` and `user_2` are the same name with another number. */
export function withoutNumber(name: string): string {
  return name.replaceAll(/[0-9]+/g, "#");
}

function wordsOf(name: string): readonly string[] {
  return name.match(CAMEL) ?? [];
}

function hasDigit(part: string): boolean {
  return /[0-9]/.test(part);
}

function isPart(part: string): boolean {
  if (HEX.test(part) && hasDigit(part)) return false;
  const digits = /[0-9]+/.exec(part);
  // Digits end a part: `a1b2` is a code.
  if (digits && (digits[0].length > DIGITS || digits.index + digits[0].length < part.length)) return false;
  return wordsOf(part).every((word) => word.length <= WORD_LENGTH && !isScrambled(word)) && !isMixed(part);
}

function isScrambled(word: string): boolean {
  let row = 0;
  let rare = 0;
  for (const letter of word.toLowerCase()) {
    row = "aeiouy".includes(letter) ? 0 : row + 1;
    if ("jqxz".includes(letter)) rare += 1;
    if (row >= CONSONANTS || (rare > 1 && word.length >= LONG_WORD)) return true;
  }
  return false;
}

/** Letters whose case changes more often than words do, as in base64. */
function isMixed(part: string): boolean {
  const words = wordsOf(part).filter((word) => !hasDigit(word));
  return words.length > 2 && words.filter(({ length }) => length < 2).length * 2 >= words.length;
}
