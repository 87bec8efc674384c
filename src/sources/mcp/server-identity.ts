import { oneLine } from "../../tools/declarations/one-line.ts";
import type { ServerText } from "./clean-credentials.ts";
import type { Session } from "./session.ts";

/** Characters of a server's name, and of its version. */
const MOST_CHARACTERS = 128;
/** Characters that are read of them. */
const READ_CHARACTERS = 1024;

/** Who answers at a server's end. Its name and version are its own words, and prove nothing. */
export interface ServerIdentity {
  /** Version of the protocol that both sides have agreed on. */
  readonly protocol?: string;
  /** One line of at most 128 characters, without credentials that the server was given. */
  readonly name?: string;
  /** Like `name`. */
  readonly version?: string;
}

export function serverIdentity(peer: Session["peer"], text: ServerText): ServerIdentity {
  const clean = (given = "") => oneLine(text.head(given, READ_CHARACTERS).toWellFormed(), MOST_CHARACTERS);
  const [protocol, name, version] = [peer.protocol, peer.name, peer.version].map(clean);
  return { ...(protocol && { protocol }), ...(name && { name }), ...(version && { version }) };
}

/** In a line, like `crm-server 1.4 (MCP 2025-11-25)`. */
export function shownIdentity({ protocol, name, version }: ServerIdentity): string {
  return [name, version, protocol && `(MCP ${protocol})`].filter((part) => part).join(" ");
}
