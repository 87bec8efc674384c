import { setImmediate } from "node:timers/promises";
import { PortcullisError } from "../errors.ts";
import type { Redact, RedactFinding, RedactField } from "./redact.ts";
import { isSecretName, isSecretPath } from "./secret-names.ts";

/** A rule of secretlint: calls `report` for each secret in a text. */
type Scan = (content: string, report: (start: number, end: number) => void) => void | Promise<void>;

interface Rule {
  readonly what: string;
  readonly scan: Scan;
}

/** Characters that are searched at once, and those that two parts share: a secret up to that length is always found. */
const PART_LENGTH = 256 * 1024;
const OVERLAP_LENGTH = 16 * 1024;

const NAMED_KIND = "named as secret";
const JWT_KIND = "jwt";
/** A mark where something was taken out before. It counts only with a kind that is known: any other word could be the secret. */
const MARK = /^"?\[redacted [0-9]{1,9} characters?: ([\w .-]{1,40})\]?"?$/;

function isMark(value: string, kinds: ReadonlySet<string>): boolean {
  const [, kind = ""] = value.length > 100 ? [] : (MARK.exec(value) ?? []);
  return kinds.has(kind);
}

/** A JSON Web Token. It begins at the beginning of a word, so that each word is read once. */
const JWT = /(?<![\w-])eyJ[\w-]{5,8192}\.[\w-]{2,8192}\.[\w-]{0,8192}/g;
/** A name, `=` or `:`, and a value, which may have a scheme before it. */
const NAMED =
  /(?<![\w-])["']?([\w.-]{1,64})["']?[ \t]{0,4}[:=][ \t]{0,4}(?:(?:bearer|basic|token)[ \t]{1,4})?("[^"\n]{1,4096}"|'[^'\n]{1,4096}'|\[redacted [0-9]{1,9} characters?: [\w .-]{1,40}\]|[^\s"',;&]{1,4096})/gi;

/** What of that is found in the strings of JSON, which may be prose or code: `"name": …`, `name=…`, and what has a scheme. */
const TIGHT = /^["']|^[\w.-]+=|[:=][ \t]{0,4}(?:bearer|basic|token)[ \t]/i;

/**
 * A `redact` that finds secrets: by the recommended rules of secretlint (keys of clouds and services, private keys,
 * passwords in addresses), JSON Web Tokens, and values under names like `password`, `apiKey` and `authorization`, at any
 * depth. A secret of more than 16,384 characters may be missed. Needs the package
 * `@secretlint/secretlint-rule-preset-recommend`: without it nothing leaves, and the operator is told.
 */
export function redactSecrets(): Redact {
  let rules: Promise<readonly Rule[]> | undefined;
  return async ({ text, fields = [] }) => {
    rules ??= loadRules();
    const loaded = await rules;
    const kinds = new Set([NAMED_KIND, JWT_KIND, ...loaded.map(({ what }) => what)]);
    const named = fields.length === 0 ? namedIn(text) : [...secretFields(fields), ...namedIn(text, TIGHT)];
    const found = named.filter(({ start, end }) => !isMark(text.slice(start, end), kinds));
    for (let from = 0; from < text.length; from += PART_LENGTH - OVERLAP_LENGTH) {
      if (from > 0) await setImmediate();
      const part = text.slice(from, from + PART_LENGTH);
      for (const { start, end, what } of await searched(part, loaded))
        found.push({ start: start + from, end: end + from, what });
      if (from + PART_LENGTH >= text.length) break;
    }
    return found;
  };
}

async function searched(part: string, rules: readonly Rule[]): Promise<readonly RedactFinding[]> {
  const found: RedactFinding[] = [];
  for (const { what, scan } of rules)
    await scan(part, (start, end) => {
      if (start < end) found.push({ start, end, what });
    });
  for (const { index, 0: token } of part.matchAll(JWT))
    found.push({ start: index, end: index + token.length, what: JWT_KIND });
  return found;
}

function secretFields(fields: readonly RedactField[]): RedactFinding[] {
  return fields.flatMap(({ path, start, end }) =>
    start < end && isSecretPath(path) ? [{ start, end, what: NAMED_KIND }] : [],
  );
}

function namedIn(text: string, form?: RegExp): RedactFinding[] {
  const found: RedactFinding[] = [];
  for (const { index, 0: whole, 1: name = "", 2: value = "" } of text.matchAll(NAMED)) {
    const end = index + whole.length;
    if (isSecretName(name) && form?.test(whole) !== false)
      found.push({ start: end - value.length, end, what: NAMED_KIND });
  }
  return found;
}

/**
 * The rules are called themselves. `@secretlint/core` would let a text switch them off by the words `secretlint-disable`,
 * and leaves marks of its profiler in the process with each text.
 */
async function loadRules(): Promise<readonly Rule[]> {
  const { rules } = await import("@secretlint/secretlint-rule-preset-recommend").catch((cause: unknown) => {
    throw new PortcullisError(
      "option_invalid",
      "redactSecrets needs the package @secretlint/secretlint-rule-preset-recommend: npm install @secretlint/secretlint-rule-preset-recommend.",
      { cause },
    );
  });
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
            ignore: () => {},
          },
          {},
        );
        return file?.({ filePath: "text", content, contentType: "text" });
      },
    }));
}
