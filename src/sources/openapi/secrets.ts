import {
  callbackRule,
  checkOptions,
  checkValue,
  oneOf,
  option,
  optionError,
  optionsIn,
  PortcullisError,
  required,
  secret,
  words,
} from "../../base/index.ts";
import { isHeaderName, isHeaderValue } from "../request-text.ts";

/** A secret, or a function that gives it for each request. */
export type Secret = string | (() => string | Promise<string>);

/** How requests say who sends them. Programs see nothing of it, and cannot change it. */
export type OpenApiAuth =
  | { readonly bearer: Secret }
  | { readonly basic: { readonly username: Secret; readonly password: Secret } }
  | { readonly apiKey: { readonly in: "header" | "query" | "cookie"; readonly name: string; readonly value: Secret } };

const SECRET = secret(
  callbackRule(option<Secret>("a secret without line breaks, or a function that returns one", isSecret)),
);
export const BASIC_RULES = {
  /** The name of the user. */
  username: required(SECRET),
  /** The password of the user. */
  password: required(SECRET),
};
export const API_KEY_RULES = {
  /** Where requests have the key. */
  in: required(oneOf(["header", "query", "cookie"])),
  /** Name of the header, parameter or cookie that has the key. */
  name: required(words("the name of the header, parameter or cookie")),
  /** The key. */
  value: required(SECRET),
};

/** Credentials are a text in one place of each request. */
export interface Authorization {
  /** Undefined without credentials. */
  readonly where?: "header" | "query" | "cookie";
  /** Of the header, the parameter or the cookie. */
  readonly name: string;
  /**
   * The text, and the secrets in it: they must not leave the host in any other way. Rejects with a `PortcullisError`
   * (`source_unavailable`) if a function gives no usable secret.
   */
  readonly give: () => Promise<readonly string[]>;
}

/** Throws a `PortcullisError` (`option_invalid`) with the place of what is wrong, and no secret. */
export function readAuthorization(auth: unknown): Authorization {
  if (auth === undefined) return { name: "", give: async () => [] };
  const within = optionsIn("fromOpenApi", "auth");
  const kinds = typeof auth === "object" && auth !== null ? Object.keys(auth) : [];
  const [kind] = kinds;
  if (kinds.length !== 1 || kind === undefined || !["bearer", "basic", "apiKey"].includes(kind))
    throw new PortcullisError(
      "option_invalid",
      `${within.object}: expected { bearer }, { basic: { username, password } } or { apiKey: { in, name, value } }, got ${kinds.length === 0 ? "none of them" : kinds.map((one) => JSON.stringify(one.slice(0, 60))).join(", ")}.`,
    );
  const credential = (auth as Readonly<Record<string, unknown>>)[kind];
  if (kind === "bearer") {
    checkValue(within.at(kind), credential, SECRET);
    const give = async () => {
      const token = await secretValue(credential as Secret);
      return [`Bearer ${token}`, token];
    };
    return { where: "header", name: "authorization", give };
  }
  const own = optionsIn(within, kind);
  if (kind === "basic") {
    const { username, password } = checkOptions(own, credential, BASIC_RULES);
    const give = async () => {
      const pair = [await secretValue(username), await secretValue(password)] as const;
      const coded = Buffer.from(pair.join(":")).toString("base64");
      return [`Basic ${coded}`, coded, pair[1]];
    };
    return { where: "header", name: "authorization", give };
  }
  const { in: where, name, value } = checkOptions(own, credential, API_KEY_RULES);
  if (where !== "query" && !isHeaderName(name)) throw optionError(own.at("name"), `the name of a ${where}`, name);
  const give = async () => {
    const key = await secretValue(value);
    return [key, key];
  };
  return { where, name, give };
}

/** Only the operator reads what a function throws: it may name the place of secrets. */
export async function secretValue(input: Secret): Promise<string> {
  try {
    const value: unknown = typeof input === "function" ? await input() : input;
    if (isUsable(value)) return value;
    throw new Error("A function of `auth` or `headers` returned no secret: it must return text without line breaks.");
  } catch (cause) {
    throw new PortcullisError("source_unavailable", "The credentials of this tool are missing.", { cause });
  }
}

/** Whether a value is a secret, or a function that gives it. */
export function isSecret(value: unknown): boolean {
  return typeof value === "function" || isUsable(value);
}

/** Whether a value can stand in a header, and is a secret. */
function isUsable(value: unknown): value is string {
  return typeof value === "string" && value.trim() !== "" && isHeaderValue(value);
}
