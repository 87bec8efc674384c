import { ignore, Pace, PortcullisError } from "../../base/index.ts";
import type { Redact, RedactFinding } from "./redact-option.ts";

/** A rule of secretlint: calls `report` for each secret in a text. */
type Scan = (content: string, report: (start: number, end: number) => void) => void | Promise<void>;

interface Rule {
  readonly what: string;
  readonly scan: Scan;
}

/** Characters that are searched at once, and characters that two parts share: a secret of at most these is always found. */
const PART_LENGTH = 32 * 1024;
const OVERLAP_LENGTH = 16 * 1024;

const NAMED_KIND = "named as secret";
const JWT_KIND = "jwt";
/** A mark of an earlier redaction. It counts only with a known kind: any other word could be the secret. */
const MARK = /^"?\[redacted [0-9]{1,9} characters?: ([\w .-]{1,40})\]?"?$/;

function isMark(value: string, kinds: ReadonlySet<string>): boolean {
  const [, kind = ""] = value.length > 100 ? [] : (MARK.exec(value) ?? []);
  return kinds.has(kind);
}

/** A JSON Web Token. It begins at the beginning of a word, so that each word is read once. */
const JWT = /(?<![\w-])eyJ[\w-]{5,8192}\.[\w-]{2,8192}\.[\w-]{0,8192}/g;
/**
 * A `redact` that finds secrets. By the recommended rules of secretlint it finds keys of clouds and services, and
 * passwords in addresses. It also finds private keys of every kind, ids of keys of AWS, JSON Web Tokens, and values
 * under names like `password`, `apiKey` and `authorization`, at any depth. A secret of more than 16,384 characters may
 * be missed. Needs the package `@secretlint/secretlint-rule-preset-recommend`, and throws `option_invalid` without it.
 */
export function redactSecrets(): Redact {
  refuseMissingRules();
  let rules: Promise<readonly Rule[]> | undefined;
  return async ({ text, fields = [] }) => {
    rules ??= loadRules();
    const loaded = await rules;
    const kinds = new Set([NAMED_KIND, JWT_KIND, ...KEY_KINDS, ...loaded.map(({ what }) => what)]);
    const isNew = ({ start, end }: Pick<RedactFinding, "start" | "end">) => !isMark(text.slice(start, end), kinds);
    const pace = new Pace();
    const found: RedactFinding[] = [];
    for (const { path, start, end } of fields) {
      await pace.rest();
      if (start < end && isSecretPath(path) && isNew({ start, end })) found.push({ start, end, what: NAMED_KIND });
    }
    const isJson = fields.length > 0;
    for (let from = 0; from < text.length; from += PART_LENGTH - OVERLAP_LENGTH) {
      const isLast = from + PART_LENGTH >= text.length;
      const part = text.slice(from, from + PART_LENGTH);
      for (const one of await searched(part, { rules: loaded, isJson, pace })) {
        // The part before has found it too, or the next part has it whole.
        if (from > 0 && one.end < OVERLAP_LENGTH) continue;
        if (!isLast && one.end === PART_LENGTH && one.start >= PART_LENGTH - OVERLAP_LENGTH) continue;
        const placed = { ...one, start: one.start + from, end: one.end + from };
        if (one.what !== NAMED_KIND || isNew(placed)) found.push(placed);
      }
      if (isLast) break;
    }
    return found;
  };
}

interface Search {
  readonly rules: readonly Rule[];
  /** Whether the text is a view of JSON. In its strings, which may be prose or code, a colon is no sign of a value. */
  readonly isJson: boolean;
  readonly pace: Pace;
}

async function searched(part: string, { rules, isJson, pace }: Search): Promise<readonly RedactFinding[]> {
  const found: RedactFinding[] = [];
  for (const { what, scan } of rules) {
    await scan(part, (start, end) => {
      if (start < end) found.push({ start, end, what });
    });
    await pace.rest();
  }
  for (const { index, 0: token } of part.matchAll(JWT))
    found.push({ start: index, end: index + token.length, what: JWT_KIND });
  for (const key of findKeys(part)) found.push(key);
  for (const { start, end, isTight } of findNamed(part))
    if (isTight || !isJson) found.push({ start, end, what: NAMED_KIND });
  return found;
}

/** A runtime without the rules would leave out every text. */
function refuseMissingRules(): void {
  try {
    import.meta.resolve("@secretlint/secretlint-rule-preset-recommend");
  } catch (cause) {
    throw new PortcullisError(
      "option_invalid",
      "redactSecrets needs the package @secretlint/secretlint-rule-preset-recommend: npm install @secretlint/secretlint-rule-preset-recommend.",
      { cause },
    );
  }
}

/**
 * The rules are called without `@secretlint/core`: a text could switch them off by the words `secretlint-disable`, and
 * each text would leave marks of its profiler in the process.
 */
async function loadRules(): Promise<readonly Rule[]> {
  const { rules } = await import("@secretlint/secretlint-rule-preset-recommend");
  return rules
    .filter(({ meta }) => meta.type === "scanner" && !meta.id.endsWith("-filter-comments"))
    .map((rule) => ({
      what: rule.meta.id.replace("@secretlint/secretlint-rule-", ""),
      scan: (content, report) => {
        const { file } = rule.create(
          {
            sharedOptions: {},
            createTranslator: () => (messageId: string) => ({ messageId, message: messageId }) as never,
            report: ({ range: [start, end] }: { readonly range: readonly [number, number] }) => report(start, end),
            ignore,
          },
          {},
        );
        return file?.({ filePath: "text", content, contentType: "text" });
      },
    }));
}

/** Characters of a key in PEM, with its markers. */
const KEY_LENGTH = 16 * 1024;
const MARKERS = /-----(BEGIN|END) ?[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;
/** What follows the beginning of a key without an end: its headers and lines, as they are or in a string of code. */
const CUT_KEY =
  /(?:(?:\s|\\[nr])*[A-Z][A-Za-z-]{1,30}: [^\n\\]{0,200}){0,8}(?:(?:\s|\\[nr])*[A-Za-z0-9+/=]{20,})*(?:(?:\s|\\[nr])*[A-Za-z0-9+/=]{1,76}(?=[\s\\]*$))?/y;
/** Ids of access keys of AWS, and keys of age. */
const KEYS: Readonly<Record<string, RegExp>> = {
  "aws-key-id": /(?<![A-Za-z0-9])(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}(?![A-Za-z0-9])/g,
  "age-key": /(?<![A-Za-z0-9])AGE-SECRET-KEY-1[0-9A-Z]{58}(?![A-Za-z0-9])/g,
};

const PRIVATE_KEY = "privatekey";

/** Kinds of keys that `findKeys` finds. */
const KEY_KINDS: readonly string[] = [PRIVATE_KEY, ...Object.keys(KEYS)];

/** Private keys in PEM of every kind (PKCS #8, encrypted or not, SEC1, RSA, OpenSSH, PGP), even without an end, and `KEYS`. */
export function findKeys(text: string): readonly RedactFinding[] {
  const found: RedactFinding[] = [];
  for (const [what, pattern] of Object.entries(KEYS))
    for (const { index, 0: key } of text.matchAll(pattern)) found.push({ start: index, end: index + key.length, what });
  const markers = [...text.matchAll(MARKERS)];
  for (const [place, { index: start, 0: marker, 1: kind }] of markers.entries()) {
    if (kind === "END") continue;
    const next = markers[place + 1];
    const end = next?.[1] === "END" ? next.index + next[0].length : Infinity;
    found.push({
      start,
      end: end - start <= KEY_LENGTH ? end : endOfCutKey(text, start + marker.length),
      what: PRIVATE_KEY,
    });
  }
  return found;
}

function endOfCutKey(text: string, from: number): number {
  CUT_KEY.lastIndex = from;
  return from + (CUT_KEY.exec(text)?.[0].length ?? 0);
}

/** A separator, and before it a name, a quotation mark and a few spaces, which are read backwards from it. */
const SEPARATOR = /[:=](?<=([\w.-]{3,64})(["']?)([ \t]{0,4})[:=])/g;
/** The value behind a separator. A scheme may stand before it, and an unclosed quotation mark is a part of it. */
const VALUE =
  /[ \t]{0,4}((?:bearer|basic|token)[ \t]{1,4})?("[^"\n]{1,16384}"|'[^'\n]{1,16384}'|\[redacted [0-9]{1,9} characters?: [\w .-]{1,40}\]|["']?[^\s"',;&]{1,16384})/iy;

/** What was found: a value, its name, and how they are written. */
interface NamedValue extends Pick<RedactFinding, "start" | "end"> {
  /** Whether it is written as in code or in an address: `"name": …`, `name=…`, or behind a scheme. */
  readonly isTight: boolean;
}

/** Values behind `=` or `:` and a name that says that they are secret. Only the end of a long name is read. */
export function* findNamed(text: string): Generator<NamedValue> {
  SEPARATOR.lastIndex = 0;
  for (let found = SEPARATOR.exec(text); found; found = SEPARATOR.exec(text)) {
    const at = found.index;
    const [separator, name = "", quote = "", spaces = ""] = found;
    if (!isSecretName(name)) continue;
    VALUE.lastIndex = at + 1;
    const [whole = "", scheme, value = ""] = VALUE.exec(text) ?? [];
    if (value === "") continue;
    const end = at + 1 + whole.length;
    const isTight = quote !== "" || (separator === "=" && spaces === "") || scheme !== undefined;
    // What reads the findings may search another text before it asks for the next one.
    yield { start: end - value.length, end, isTight };
    SEPARATOR.lastIndex = end;
  }
}

/** Names of fields whose values are secret, without what stands between their words. */
const SECRET_NAME =
  /(?:password|passwd|passphrase|pwd|secret|secretkey|apikey|accesskey|accesskeyid|privatekey|signingkey|encryptionkey|authtoken|accesstoken|refreshtoken|idtoken|bearertoken|sessiontoken|authorization|credential|credentials|clientsecret|cookie|setcookie|sessionid|connectionstring)$/;
/** Names that end in `token` are secret, except for tokens of pages and counts of tokens. */
const TOKEN_NAME = /(?<!page|next|cursor|continuation|sync|max|input|output)token$/;
const BETWEEN_WORDS = /[^a-z0-9]/g;

/** Whether a name along a path says that its value is secret, as in `user.password` and `secret.value`, not in `secrets`. */
function isSecretPath(path: string): boolean {
  return path.split(".").some((name) => isSecretName(name));
}

function isSecretName(name: string): boolean {
  const plain = name.toLowerCase().replaceAll(BETWEEN_WORDS, "");
  return SECRET_NAME.test(plain) || TOKEN_NAME.test(plain);
}
