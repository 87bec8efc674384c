import { randomUUID } from "node:crypto";
import { createServer, type Server } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import type { OAuthClientProvider } from "@modelcontextprotocol/client";
import {
  deadline,
  fieldOf,
  type Fields,
  isFields,
  parsedJson,
  PortcullisError,
  textOf,
  ignore,
} from "../../../base/index.ts";
import { reasonOf, type McpPackage, MalformedMessage, MessageTooLarge } from "../wire/wire.ts";
import type { Access } from "../wire/http-wire.ts";
import { authFetch } from "./auth-fetch.ts";
import type { ReadOAuth } from "./auth-option.ts";
import { codeIn, NeedsPerson, NoAccess, wordsIn, refusalWords } from "./no-access.ts";
import { ALONE_MS, tokenStore } from "./token-store.ts";

const PATH = "/callback";
const CALLBACK_CONNECTIONS = 16;
const DONE = "You may close this page.\n";

type Kept = ReturnType<OAuthClientProvider["tokens"]>;
type Discovered = Parameters<NonNullable<OAuthClientProvider["saveDiscoveryState"]>>[0];
type Registered = ReturnType<OAuthClientProvider["clientInformation"]>;

/**
 * This package as an OAuth client of one server: PKCE, registration and refreshing are the MCP package's. A person opens
 * an address, allows it there, and is sent back to a port of this machine.
 */
export class OAuthClient implements OAuthClientProvider, Access {
  readonly #parts: OAuthParts;
  readonly #file: ReturnType<typeof tokenStore>;
  readonly #state = randomUUID();
  #server: Server | undefined;
  #port = 0;
  #verifier = "";
  /** What a person has to open before the server takes a request. */
  #address: URL | undefined;
  #asking: Promise<void> | undefined;
  /** Scopes that a person was asked for beyond those of the tokens. */
  readonly #widened = new Set<string | undefined>();
  #last: Promise<unknown> = Promise.resolve();
  /** Of the latest request for tokens or a registration: why it failed, in the words of who answered, and whether it may be made again. */
  #failure: { readonly reason?: string | undefined; readonly isPassing: boolean } | undefined;
  #discovered: Discovered | undefined;
  #onCallback: ((params: URLSearchParams) => void) | undefined;

  private constructor(parts: OAuthParts) {
    this.#parts = parts;
    this.#file = tokenStore(parts.options.store, parts.serverUrl);
  }

  /** Rejects with `option_invalid` for a store that cannot be used, and for a port that is taken. */
  static async open(parts: OAuthParts): Promise<OAuthClient> {
    const client = new OAuthClient(parts);
    await client.#listen();
    return client;
  }

  close(): void {
    this.#server?.closeAllConnections();
    this.#server?.close();
  }

  async #listen(): Promise<void> {
    const { port: kept } = this.#file.read();
    const wanted = this.#parts.options.port ?? (typeof kept === "number" ? kept : 0);
    if (await this.#bind(wanted)) return;
    if (this.#parts.options.port !== undefined)
      throw new PortcullisError("option_invalid", `fromMcp({ auth: { port } }): the port ${wanted} is taken.`);
    // The registration names the port: with another one it is made anew.
    await this.#bind(0);
    this.#keep({ port: this.#port, client: undefined });
  }

  async #bind(port: number): Promise<boolean> {
    const server = createServer((request, response) => {
      // Anybody on this machine can send anything, as every page in its browser can: "//" is no address.
      const { pathname, searchParams } = URL.parse(request.url ?? "/", this.redirectUrl) ?? {};
      const isOurs = pathname === PATH && searchParams?.get("state") === this.#state;
      response.writeHead(isOurs ? 200 : 404, { "content-type": "text/plain", connection: "close" });
      response.end(isOurs ? DONE : "");
      if (isOurs && searchParams) this.#onCallback?.(searchParams);
    });
    server.maxConnections = CALLBACK_CONNECTIONS;
    server.listen(port, "127.0.0.1");
    try {
      await once(server, "listening");
    } catch {
      return false;
    }
    server.unref();
    this.#server = server;
    this.#port = (server.address() as AddressInfo).port;
    return true;
  }

  token(): string | undefined {
    return textOf(this.tokens(), "access_token");
  }

  /**
   * Another token after the server has refused one, or one with too few scopes: refreshed by one call and one process at a
   * time, because a refresh token may be good for one use. Rejects with `NeedsPerson`, or with why there is none.
   */
  refused(token: string | undefined, response: Response, signal: AbortSignal): Promise<string | undefined> {
    const renewed = this.#last.then(() => this.#file.alone(() => this.#renew(token, response), signal));
    this.#last = renewed.catch(ignore);
    return renewed;
  }

  async #renew(token: string | undefined, response: Response): Promise<string | undefined> {
    const { resourceMetadataUrl, scope, error, errorDescription } =
      this.#parts.mcp.extractWWWAuthenticateParams(response);
    const isTooNarrow = response.status === 403;
    const kept = this.token();
    if (kept !== token && kept !== undefined) return kept;
    const wanted = isTooNarrow ? this.#parts.mcp.computeScopeUnion(textOf(this.tokens(), "scope"), scope) : scope;
    if (this.#address) throw new NeedsPerson("a person has to allow it");
    if (isTooNarrow && this.#widened.has(wanted)) {
      const reason = refusalWords({ error, error_description: errorDescription, scope });
      throw new NoAccess("what a person has allowed is not enough", { reason });
    }
    if (isTooNarrow) this.#widened.add(wanted);
    const options = { resourceMetadataUrl, scope: wanted, forceReauthorization: isTooNarrow };
    if ((await this.#auth(options, deadline(ALONE_MS))) === "AUTHORIZED") return this.token();
    if (!isTooNarrow && this.#failure?.isPassing) {
      this.#address = undefined;
      throw new NoAccess("its authorization server does not refresh tokens at the moment", {
        reason: this.#reason,
      });
    }
    throw new NeedsPerson("a person has to allow it");
  }

  async #auth(options: object, signal: AbortSignal): Promise<string> {
    this.#failure = undefined;
    const server = new URL(this.#parts.serverUrl);
    const fetchFn = async (input: string | URL, init: RequestInit = {}) => {
      const isAsking = init.method === "POST";
      if (isAsking) this.#failure = { isPassing: true };
      const response = await authFetch(server, input, { ...init, signal });
      if (!isAsking) return response;
      this.#failure = undefined;
      const body = await response.clone().text();
      // Some refuse with the status 200.
      if (response.ok && fieldOf(parsedJson(body), "error") === undefined) return response;
      const status = Math.max(response.status, 400);
      const isRefresh = init.body instanceof URLSearchParams && init.body.get("grant_type") === "refresh_token";
      const code = codeIn(body, isRefresh);
      const isPassing = status >= 500 || status === 429 || code === "temporarily_unavailable";
      this.#failure = { reason: wordsIn(body), isPassing };
      // The package prints what it cannot read, and a server may repeat the tokens that it was sent. The code alone decides.
      return Response.json({ error: isPassing ? "server_error" : code }, { status });
    };
    try {
      return await this.#parts.mcp.auth(this, { ...options, serverUrl: this.#parts.serverUrl, fetchFn });
    } catch (error) {
      if (error instanceof MessageTooLarge || error instanceof MalformedMessage || PortcullisError.is(error))
        throw error;
      const detail = error instanceof Error ? reasonOf(error) : undefined;
      throw new NoAccess(this.#why(), { reason: this.#reason, detail, cause: error });
    }
  }

  get #reason(): string | undefined {
    return this.#failure?.reason;
  }

  #why(): string {
    const metadata = this.#discovered?.authorizationServerMetadata;
    const { issuer = metadata?.issuer } = this.#parts.options;
    if (metadata && issuer?.replace(/\/$/, "") !== metadata.issuer.replace(/\/$/, ""))
      return `its authorization server is ${JSON.stringify(metadata.issuer.slice(0, 200))}, and not the \`issuer\` in \`auth\``;
    if (this.clientInformation()) return "its authorization server gave no tokens";
    const isOffered = !metadata || metadata.registration_endpoint !== undefined;
    return `its authorization server ${isOffered ? "has not registered this client" : "registers no clients by itself"}: register one there, and give its \`clientId\` in \`auth\``;
  }

  /** Shows the address, waits until the person is back, and gets the tokens. Rejects with `NoAccess`. One person is asked at a time. */
  askPerson(signal: AbortSignal): Promise<void> {
    this.#asking ??= this.#askPerson(signal).finally(() => {
      this.#asking = undefined;
      this.#address = undefined;
    });
    return this.#asking;
  }

  async #askPerson(signal: AbortSignal): Promise<void> {
    if (!this.#address) return;
    const { waitMs, onAddress } = this.#parts.options;
    const back = Promise.withResolvers<URLSearchParams>();
    this.#onCallback = back.resolve;
    const over = AbortSignal.any([signal, deadline(waitMs)]);
    const onOver = () => back.reject(new NoAccess(`it was not allowed within ${waitMs} ms`));
    over.addEventListener("abort", onOver, { once: true });
    // A process that does nothing else waits for the person.
    this.#server?.ref();
    try {
      const { href } = this.#address;
      if (onAddress) onAddress(href);
      else process.stderr.write(`To give access to the MCP server "${this.#parts.source}", open:\n${href}\n`);
      const { code: authorizationCode, iss, ...params } = Object.fromEntries(await back.promise);
      if (!authorizationCode)
        throw new NoAccess("it was not allowed by the person, or by its server", { reason: refusalWords(params) });
      await this.#auth({ authorizationCode, iss }, over);
    } finally {
      this.#server?.unref();
      over.removeEventListener("abort", onOver);
      this.#onCallback = undefined;
    }
  }

  // ---- what the MCP package asks ---------------------------------------------------------------------------------

  get redirectUrl(): string {
    return `http://127.0.0.1:${this.#port}${PATH}`;
  }

  get clientMetadata(): OAuthClientProvider["clientMetadata"] {
    const { scope, clientSecret } = this.#parts.options;
    return {
      client_name: "portcullis",
      redirect_uris: [this.redirectUrl],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: clientSecret === undefined ? "none" : "client_secret_post",
      scope,
    };
  }

  state(): string {
    return this.#state;
  }

  clientInformation(): Registered {
    const { clientId, clientSecret, issuer } = this.#parts.options;
    if (clientId !== undefined) return { client_id: clientId, client_secret: clientSecret, issuer };
    return keptIn(this.#file.read(), "client") as Registered;
  }

  saveClientInformation(client: unknown): void {
    this.#keep({ client, port: this.#port });
  }

  tokens(): Kept {
    const tokens = keptIn(this.#file.read(), "tokens");
    for (const name of ["access_token", "refresh_token"]) {
      const token = textOf(tokens, name);
      if (token) this.#parts.onToken(token);
    }
    return tokens as Kept;
  }

  saveTokens(tokens: unknown): void {
    this.#keep({ tokens });
  }

  /** Shown once the connection was refused: the package may ask more than once for one connection. */
  redirectToAuthorization(address: URL): void {
    this.#address = address;
  }

  saveDiscoveryState(found: Discovered): void {
    this.#discovered = found;
  }

  /** Which server the person was sent to: only its code is taken. */
  discoveryState(): Discovered | undefined {
    return this.#discovered;
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }

  codeVerifier(): string {
    return this.#verifier;
  }

  invalidateCredentials(scope: "all" | "client" | "tokens" | "verifier" | "discovery"): void {
    if (scope === "all") this.#keep({ client: undefined, tokens: undefined });
    if (scope === "client" || scope === "tokens") this.#keep({ [scope]: undefined });
  }

  #keep(changed: Fields): void {
    this.#file.write({ ...this.#file.read(), ...changed });
  }
}

export interface OAuthParts {
  readonly mcp: McpPackage;
  readonly source: string;
  readonly serverUrl: string;
  readonly options: ReadOAuth;
  /** Told of each token, so that no text of the server repeats it. */
  readonly onToken: (token: string) => void;
}

function keptIn(kept: Fields, name: string): Fields | undefined {
  const value = fieldOf(kept, name);
  return isFields(value) ? value : undefined;
}
