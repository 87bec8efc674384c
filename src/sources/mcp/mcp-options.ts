import {
  flag,
  httpUrl,
  isFields,
  listener,
  oneOf,
  option,
  type OptionsOf,
  PortcullisError,
  readOptions,
  required,
  type CheckedOptions,
  secret,
  wholeNumber,
  withDefault,
  words,
} from "../../base/index.ts";
import { TIMEOUT_MS } from "../../tools/tool.ts";
import { toolNameFault } from "../../tools/tool-name.ts";
import { AUTH } from "./auth/auth-option.ts";
import { isHeaderName, isHeaderValue } from "../request-text.ts";

/** What has changed in the list of a server's tools, by the server's own names. */
export interface SourceChange {
  readonly source: string;
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** Tools whose description, schemas or annotations have changed. */
  readonly changed: readonly string[];
}

type TextMap = Readonly<Record<string, string>>;

const PROTOCOLS = ["auto", "2025-11-25", "2026-07-28"] as const;

export const MCP_RULES = {
  /** Name of the source, and the first part of the names of its tools: identifiers with dots between. */
  name: required(words("a name")),
  /** Command of a server that speaks over its standard streams. It is started without a shell. */
  command: option<string>("the command that starts the server", (value) => isWord(value) && value.trim() !== ""),
  /** Arguments of the command. */
  args: secret(
    option<readonly string[]>(
      "an array of strings without null characters",
      (value) => Array.isArray(value) && value.every(isWord),
    ),
  ),
  /** Environment of the server: these variables, and the host's own `PATH` and `HOME`. */
  env: secret(
    option<TextMap>("variables: names without =, with texts without null characters", (texts) =>
      areTexts(texts, (name, value) => /^[^=\0]+$/.test(name) && isWord(value)),
    ),
  ),
  /** Folder that the server is started in; the host's own by default. */
  cwd: words("a folder"),
  /** Address of a server that speaks over Streamable HTTP. */
  url: secret(
    option<string>("an address that begins with http:// or https://, of one host and without a user", isAddress),
  ),
  /** Headers of all requests to that address. They are sent to no other host. */
  headers: secret(
    option<TextMap>("headers: names of letters and hyphens, with texts of Latin-1 without line breaks", (texts) =>
      areTexts(texts, (name, value) => isHeaderName(name) && isHeaderValue(value)),
    ),
  ),
  /**
   * Access to that address: a function that gives the token of each request, and is asked once more if the server refuses it;
   * or `{ store }` for OAuth, with PKCE and a registration of its own. A person then opens an address once.
   */
  auth: AUTH,
  /** Version of the protocol; by default the newest that both sides know. */
  protocol: withDefault(oneOf(PROTOCOLS), "auto"),
  /** How long the server may take until its tools are listed, in milliseconds; 10 seconds by default. */
  connectTimeoutMs: wholeNumber({ min: 1, max: TIMEOUT_MS.max, default: 10_000 }),
  /** Timeout of calls of tools whose policy names none, in milliseconds; a minute by default. */
  timeoutMs: wholeNumber({ ...TIMEOUT_MS, default: 60_000 }),
  /** Whether a tool is refused once its definition differs from the first list. */
  pin: withDefault(flag(), false),
  /**
   * Whether there is a tool `read_resource` that reads what results of this server have named: the `uri` of a link or of an
   * embedded resource, in the same execution or conversation. It gets its policy by this name, as a tool of the server does,
   * and its effect is `read`.
   */
  resources: withDefault(flag(), false),
  /** Told when the list of tools has changed. What it throws is ignored. */
  onSourceChange: listener<(change: SourceChange) => void>(),
};

/** An MCP server: `command` if it is started here, or `url` if it runs elsewhere. */
export type McpServer = OptionsOf<typeof MCP_RULES>;

export type ReadServer = CheckedOptions<typeof MCP_RULES> &
  ({ readonly command: string; readonly url?: never } | { readonly url: string; readonly command?: never });

export function readServer(server: unknown): ReadServer {
  const read = readOptions("fromMcp", server, MCP_RULES);
  const nameFault = toolNameFault(read.name);
  if (nameFault !== undefined)
    throw new PortcullisError(
      "option_invalid",
      `fromMcp({ name: ${JSON.stringify(read.name.slice(0, 128))} }): this name cannot be used: ${nameFault}.`,
    );
  const refused = (what: string) => new PortcullisError("option_invalid", `fromMcp({ name: "${read.name}"${what}.`);
  if ((read.command === undefined) === (read.url === undefined))
    throw refused(" }): expected either command, for a server that is started, or url, for one that runs elsewhere");
  const misplaced = Object.keys(read).find((key) => (read.url === undefined ? HTTP_ONLY : STDIO_ONLY).has(key));
  if (misplaced !== undefined)
    throw refused(`, ${misplaced} }): ${misplaced} goes with ${read.url === undefined ? "url" : "command"} only`);
  return read as ReadServer;
}

const HTTP_ONLY: ReadonlySet<string> = new Set(["headers", "auth"]);
const STDIO_ONLY: ReadonlySet<string> = new Set(["args", "env", "cwd"]);

// What does not fit would fail the server's process or request, with an error that shows the value.

function isWord(value: unknown): value is string {
  return typeof value === "string" && !value.includes("\0");
}

function areTexts(texts: unknown, fits: (name: string, value: string) => boolean): boolean {
  return (
    isFields(texts) && Object.entries(texts).every(([name, value]) => typeof value === "string" && fits(name, value))
  );
}

function isAddress(value: unknown): boolean {
  const url = typeof value === "string" ? httpUrl(value) : undefined;
  return url !== undefined && url.username === "" && url.password === "";
}
