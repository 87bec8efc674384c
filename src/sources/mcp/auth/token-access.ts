import type { Access } from "../wire/http-wire.ts";
import type { TokenFunction } from "./auth-option.ts";
import { NoAccess } from "./no-access.ts";

/** Tokens of a function. After a refusal it is asked once more, and the request is sent again with what it gives. */
export function tokenAccess(give: TokenFunction, onToken: (token: string) => void): Access {
  const ask = async (refused: boolean) => {
    const token: unknown = await call(give, refused);
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

/** Rejects with what the function threw, for the developer alone. */
async function call(give: TokenFunction, refused: boolean): Promise<unknown> {
  try {
    return await give({ refused });
  } catch (cause) {
    throw new NoAccess("its `auth` gave no token", { detail: (cause as Error).message, cause });
  }
}
