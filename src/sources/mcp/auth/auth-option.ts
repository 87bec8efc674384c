import {
  callbackRule,
  callback,
  isFields,
  option,
  optionError,
  type OptionsOf,
  readOptions,
  required,
  secret,
  wholeNumber,
  words,
} from "../../../base/index.ts";
import type { Access } from "../wire/http-wire.ts";
import { NoAccess } from "./no-access.ts";

/** Gives the token of the next request; `refused`: the server did not take the last one. Undefined sends none. */
export type TokenFunction = (about: { readonly refused: boolean }) => string | undefined | Promise<string | undefined>;

export const OAUTH_RULES = {
  /** File of the client's registration and its tokens, which only its owner may read; created if it is missing. Sources may share it: each server is sent its own. */
  store: required(words("a file")),
  /** Id of a client that is registered already. By default the client registers itself. */
  clientId: words("an id"),
  /** Secret of that client; none by default. Only `issuer` is given it. */
  clientSecret: secret(words("a secret")),
  /** The authorization server of `clientId`, as it names itself, like `https://login.example.com`; required with `clientSecret`. The client is used at no other that the MCP server may name. */
  issuer: words("the address of an authorization server"),
  /** What the client asks for; the server's own proposal by default. */
  scope: words("scopes with spaces between them"),
  /** Port of this machine to which the person is sent back; by default one that is free, the same each time. */
  port: wholeNumber({ min: 1, max: 65_535 }),
  /** How long a person may take to allow it, in milliseconds; five minutes by default. */
  waitMs: wholeNumber({ min: 1000, max: 2 ** 31 - 1, default: 300_000 }),
  /** Shown the address that a person must open; by default it is printed on standard error. */
  onAddress: callback<(address: string) => void>(),
};

export type OAuth = OptionsOf<typeof OAUTH_RULES>;

export type McpAuth = TokenFunction | OAuth;

export const AUTH = secret(
  callbackRule(
    option<McpAuth>(
      "a function that gives a token, or { store } for OAuth",
      (value) => typeof value === "function" || (isFields(value) && typeof value.store === "string"),
    ),
  ),
);

export type ReadOAuth = ReturnType<typeof readOAuth>;

export function readOAuth(auth: OAuth) {
  const read = readOptions("fromMcp({ auth })", auth, OAUTH_RULES);
  if (read.clientSecret !== undefined && read.issuer === undefined)
    throw optionError(
      "fromMcp({ auth: { issuer } })",
      "the authorization server that `clientSecret` is for",
      undefined,
    );
  return read;
}

/** Tokens of a function. After a refusal it is asked once more, and the request is sent again with what it gives. */
export function tokenAccess(give: TokenFunction, onToken: (token: string) => void): Access {
  const ask = async (refused: boolean) => {
    let token: unknown;
    try {
      token = await give({ refused });
    } catch (cause) {
      // What it threw is for the developer alone.
      throw new NoAccess("its `auth` gave no token", { detail: (cause as Error).message, cause });
    }
    if (token === undefined) return undefined;
    if (typeof token !== "string" || !/^[\x21-\x7e]+$/.test(token))
      throw new NoAccess("its `auth` gave no token: a text without spaces");
    onToken(token);
    return token;
  };
  return {
    token: () => ask(false),
    refused: (_, { status }) => (status === 401 ? ask(true) : Promise.resolve(undefined)),
  };
}
