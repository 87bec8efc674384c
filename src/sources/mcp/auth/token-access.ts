import { PortcullisError } from "../../../errors.ts";
import type { AuthProvider } from "@modelcontextprotocol/client";
import type { TokenFunction } from "./auth-option.ts";

/** Tokens of a function. After a refusal it is asked once more, and the request is sent again with what it gives. */
export function tokenAccess(give: TokenFunction, onToken: (token: string) => void): AuthProvider {
  let next: string | undefined;
  const ask = async (refused: boolean) => {
    const token: unknown = await give({ refused });
    if (token === undefined) return undefined;
    if (typeof token !== "string" || !/^[\x21-\x7e]+$/.test(token))
      throw new PortcullisError(
        "source_unavailable",
        "The `auth` function of an MCP server gave no token: a text without spaces.",
      );
    onToken(token);
    return token;
  };
  return {
    async token() {
      const again = next;
      next = undefined;
      return again ?? (await ask(false));
    },
    async onUnauthorized() {
      next = await ask(true);
    },
  };
}
