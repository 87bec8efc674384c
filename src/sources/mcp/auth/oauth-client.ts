import { randomUUID } from "node:crypto";
import { createServer, type Server } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import type { OAuthClientProvider } from "@modelcontextprotocol/client";
import { deadline } from "../../../clock.ts";
import { PortcullisError } from "../../../errors.ts";
import { type Fields, isFields, textOf } from "../../../values/fields.ts";
import type { McpPackage } from "../wire/load-client.ts";
import { authFetch } from "./auth-fetch.ts";
import type { ReadOAuth } from "./auth-option.ts";
import { TokenStore } from "./token-store.ts";

const PATH = "/callback";
const DONE = "You may close this page.\n";

type Kept = ReturnType<OAuthClientProvider["tokens"]>;
type Discovered = Parameters<NonNullable<OAuthClientProvider["saveDiscoveryState"]>>[0];
type Registered = ReturnType<OAuthClientProvider["clientInformation"]>;

/**
 * This package as an OAuth client of one server: PKCE, registration and refreshing are the MCP package's. A person opens
 * an address, allows it there, and is sent back to a port of this machine.
 */
export class OAuthClient implements OAuthClientProvider {
  readonly #options: ReadOAuth;
  readonly #source: string;
  readonly #file: TokenStore;
  readonly #state = randomUUID();
  /** Told of each token, so that no text of the server repeats it. */
  readonly #onToken: (token: string) => void;
  #server: Server | undefined;
  #port = 0;
  #verifier = "";
  #address: URL | undefined;
  #discovered: Discovered | undefined;
  #onCallback: ((params: URLSearchParams) => void) | undefined;

  private constructor(source: string, serverUrl: string, options: ReadOAuth, onToken: (token: string) => void) {
    this.#source = source;
    this.#onToken = onToken;
    this.#options = options;
    this.#file = new TokenStore(options.store, serverUrl);
  }

  /** Rejects with `option_invalid` for a store that cannot be used, and for a port that is taken. */
  static async open(
    source: string,
    serverUrl: string,
    options: ReadOAuth,
    onToken: (token: string) => void,
  ): Promise<OAuthClient> {
    const client = new OAuthClient(source, serverUrl, options, onToken);
    await client.#listen();
    return client;
  }

  close(): void {
    this.#server?.closeAllConnections();
    this.#server?.close();
  }

  async #listen(): Promise<void> {
    const { port: kept } = this.#file.read();
    const wanted = this.#options.port ?? (typeof kept === "number" ? kept : 0);
    if (await this.#bind(wanted)) return;
    if (this.#options.port !== undefined)
      throw new PortcullisError("option_invalid", `fromMcp({ auth: { port } }): the port ${wanted} is taken.`);
    // The registration names the port: with another one it is made anew.
    await this.#bind(0);
    this.#keep({ port: this.#port, client: undefined });
  }

  async #bind(port: number): Promise<boolean> {
    const server = createServer((request, response) => {
      const url = new URL(request.url ?? "/", this.redirectUrl);
      const isOurs = url.pathname === PATH && url.searchParams.get("state") === this.#state;
      response.writeHead(isOurs ? 200 : 404, { "content-type": "text/plain", connection: "close" });
      response.end(isOurs ? DONE : "");
      if (isOurs) this.#onCallback?.(url.searchParams);
    });
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

  /** Whether a person must open an address before the server takes a request. */
  get needsPerson(): boolean {
    return this.#address !== undefined;
  }

  /** Shows the address, waits until the person is back, and gets the tokens. Rejects with `source_unavailable`. */
  async askPerson(mcp: McpPackage, serverUrl: string, signal: AbortSignal): Promise<void> {
    const address = String(this.#address);
    this.#address = undefined;
    const { waitMs, onAddress = printAddress(this.#source) } = this.#options;
    const back = Promise.withResolvers<URLSearchParams>();
    this.#onCallback = back.resolve;
    const over = AbortSignal.any([signal, deadline(waitMs)]);
    const onOver = () => back.reject(this.#failed(`was not allowed within ${waitMs} ms`));
    over.addEventListener("abort", onOver, { once: true });
    try {
      onAddress(address);
      const params = await back.promise;
      const authorizationCode = params.get("code");
      if (!authorizationCode) throw this.#failed("was not allowed by the person, or by its server");
      const iss = params.get("iss");
      const fetchFn = (input: string | URL, init?: RequestInit) =>
        authFetch(new URL(serverUrl), input, { ...init, signal: over });
      await mcp.auth(this, { serverUrl, authorizationCode, fetchFn, ...(iss === null ? {} : { iss }) });
    } catch (error) {
      throw PortcullisError.is(error) ? error : this.#failed("gave no tokens for the code", error);
    } finally {
      over.removeEventListener("abort", onOver);
      this.#onCallback = undefined;
    }
  }

  #failed(why: string, cause?: unknown): PortcullisError {
    return new PortcullisError("source_unavailable", `MCP server "${this.#source}": access to it ${why}.`, { cause });
  }

  // ---- what the MCP package asks ---------------------------------------------------------------------------------

  get redirectUrl(): string {
    return `http://127.0.0.1:${this.#port}${PATH}`;
  }

  get clientMetadata(): OAuthClientProvider["clientMetadata"] {
    const { scope, clientSecret } = this.#options;
    return {
      client_name: "portcullis",
      redirect_uris: [this.redirectUrl],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: clientSecret === undefined ? "none" : "client_secret_post",
      ...(scope === undefined ? {} : { scope }),
    };
  }

  state(): string {
    return this.#state;
  }

  clientInformation(): Registered {
    const { clientId, clientSecret } = this.#options;
    if (clientId !== undefined)
      return {
        client_id: clientId,
        ...(clientSecret === undefined ? {} : { client_secret: clientSecret }),
      };
    return keptIn(this.#file.read(), "client") as Registered;
  }

  saveClientInformation(client: unknown): void {
    this.#keep({ client, port: this.#port });
  }

  tokens(): Kept {
    const tokens = keptIn(this.#file.read(), "tokens");
    for (const name of ["access_token", "refresh_token"]) {
      const token = textOf(tokens, name);
      if (token) this.#onToken(token);
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

function keptIn(kept: Fields, name: string): Fields | undefined {
  const value = Object.hasOwn(kept, name) ? kept[name] : undefined;
  return isFields(value) ? value : undefined;
}

function printAddress(source: string) {
  return (address: string) => {
    process.stderr.write(`To give access to the MCP server "${source}", open:\n${address}\n`);
  };
}
