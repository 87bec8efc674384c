import { createHash } from "node:crypto";
import dns from "node:dns";
import dnsPromises from "node:dns/promises";
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { get, type IncomingMessage, type ServerResponse } from "node:http";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { fromMcp, type McpServer, type McpSource } from "../../../src/index.ts";
import { type OAuth, readOAuth } from "../../../src/sources/mcp/auth/auth-option.ts";
import { authFetch } from "../../../src/sources/mcp/auth/auth-fetch.ts";
import { OAuthClient } from "../../../src/sources/mcp/auth/oauth-client.ts";
import { tokenStore } from "../../../src/sources/mcp/auth/token-store.ts";
import { answerByHand, type HttpServer, serve } from "./http-servers.ts";
import { call, READ, run } from "./servers.ts";
import { failing, throws } from "../../support/failing.ts";

const folder = mkdtempSync(join(tmpdir(), "portcullis-auth-"));
let files = 0;
const URL_OF_SERVER = "https://mcp.example/mcp";
const newStore = () => join(folder, `store-${(files += 1)}`, "tokens.json");
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const json = (response: ServerResponse, status: number, body: object, headers = {}) =>
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));

const bearerOf = ({ headers }: IncomingMessage) => (headers.authorization ?? "").replace("Bearer ", "");

/** Has the tool `echo`, which takes some tokens alone, and says in its answer which it was given. */
const echoing = (isTaken: (token: string) => boolean) =>
  answerByHand(
    ({ request, send }) => send({ content: [{ type: "text", text: `given ${bearerOf(request)}` }], isError: true }),
    {
      tools: ["echo"],
      refuses: (request, response) => !isTaken(bearerOf(request)) && response.writeHead(401).end(),
    },
  );
const guarded = (isTaken: (token: string) => boolean) => serve(echoing(isTaken));
const sourceOf = ({ url }: HttpServer, auth: McpServer["auth"]) =>
  fromMcp({ name: "web", url, protocol: "2025-11-25", ...(auth && { auth }) }, READ);

describe("a function of tokens", () => {
  test("is asked for each request, and once more if the server refuses what it gave", async () => {
    let taken = "token-one-1";
    const asked: boolean[] = [];
    await using server = await guarded((token) => token === taken);
    await using source = await sourceOf(server, ({ refused }) => {
      asked.push(refused);
      return refused ? "token-two-2" : "token-one-1";
    });
    expect(asked).not.toContain(true);
    taken = "token-two-2";
    const before = asked.length;
    const answer = await call(source.tools, "web.echo({})");
    expect(asked.slice(before)).toContain(true);
    expect(JSON.stringify(answer)).toContain("given [secret]");
    expect(JSON.stringify(answer)).not.toContain("token-two-2");
  });

  test("that gives no token the server takes ends in one sentence, after two requests", async () => {
    await using server = await guarded(() => false);
    await expect(sourceOf(server, () => "token-bad-1")).rejects.toMatchObject(
      failing("source_unavailable", "answered with the status 401"),
    );
    expect(server.headers).toHaveLength(2);
  });

  test.each<[string, () => string, string, string]>([
    [
      "throws",
      throws("no vault at /srv/x"),
      "gives no access: its `auth` gave no token (The function `auth` failed: no vault at /srv/x).",
      "gives no access: its `auth` gave no token.",
    ],
    ["gives no token", () => "a b", "its `auth` gave no token: a text", "its `auth` gave no token: a text"],
  ])("that %s is told to the developer, and without details to the program", async (_what, fail, told, toProgram) => {
    await using server = await guarded(() => true);
    await expect(sourceOf(server, fail)).rejects.toMatchObject(failing("source_unavailable", told));
    let fails = false;
    await using source = await sourceOf(server, () => (fails ? fail() : "token-one-1"));
    fails = true;
    expect(await call(source.tools, "web.echo({})")).toMatchObject(failing("source_unavailable", toProgram));
  });

  test("whose token the server refuses is told in the server's words", async () => {
    const challenge = 'Bearer error="invalid_token", error_description="The token was revoked"';
    await using server = await serve((_, __, response) =>
      response.writeHead(401, { "www-authenticate": challenge }).end(),
    );
    await expect(sourceOf(server, () => "token-bad-1")).rejects.toThrow(
      'answered with the status 401, and says: "invalid_token: The token was revoked"',
    );
  });

  test.each<[object, string]>([
    [{ command: "x", auth: () => "a" }, "auth goes with url only"],
    [{ url: "http://127.0.0.1:1", auth: "token" }, "fromMcp({ auth }): expected a function that gives a token"],
    [{ url: "http://127.0.0.1:1", auth: { file: "x" } }, "fromMcp({ auth }): expected"],
    [{ url: "http://127.0.0.1:1", auth: { store: "x", prot: 1 } }, "prot"],
  ])("malformed: %j", async (server, why) => {
    await expect(fromMcp({ name: "web", ...server })).rejects.toMatchObject(failing("option_invalid", why));
  });
});

interface Authorizing {
  /** What the person brings back. */
  readonly back?: Readonly<Record<string, string>>;
  readonly hostile?: Readonly<Record<string, (response: ServerResponse) => unknown>>;
  /** Fields of its answers beside the usual ones. */
  readonly token?: object;
  readonly metadata?: object;
  readonly client?: object;
  /** A scope without which calls are refused. */
  readonly scope?: string;
}

/** An authorization server, whose refresh tokens are good for one use, the MCP server that it guards, and a person who allows all. */
async function authorized({
  back: brought = { code: "code-1" },
  hostile = {},
  token = {},
  metadata = {},
  client: registration = {},
  scope,
}: Authorizing = {}) {
  const registered: { redirect_uris: string[] }[] = [];
  const grants: URLSearchParams[] = [];
  let challenge = "";
  let given = 0;
  let [refresh, isEnded] = ["", false];
  const server = await serve((request, body, response) => {
    const { pathname, searchParams, origin } = new URL(request.url ?? "/", server.url);
    const answer = hostile[pathname];
    if (answer) return answer(response);
    if (pathname.startsWith("/.well-known/oauth-protected-resource"))
      return json(response, 200, { resource: server.url, authorization_servers: [origin] });
    if (pathname.startsWith("/.well-known/"))
      return json(response, 200, {
        issuer: origin,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        registration_endpoint: `${origin}/register`,
        response_types_supported: ["code"],
        code_challenge_methods_supported: ["S256"],
        ...metadata,
      });
    if (pathname === "/register") {
      const client = JSON.parse(body.toString()) as { redirect_uris: string[] };
      registered.push(client);
      return json(response, 201, { ...client, client_id: `client-${registered.length}`, ...registration });
    }
    if (pathname === "/authorize") {
      challenge = searchParams.get("code_challenge") ?? "";
      const back = new URL(searchParams.get("redirect_uri") ?? "");
      back.searchParams.set("state", searchParams.get("state") ?? "");
      for (const [name, value] of Object.entries(brought)) back.searchParams.set(name, value);
      return response.writeHead(302, { location: back.href }).end();
    }
    if (pathname === "/token") {
      const grant = new URLSearchParams(body.toString());
      grants.push(grant);
      const verified =
        createHash("sha256")
          .update(grant.get("code_verifier") ?? "")
          .digest("base64url") === challenge;
      if (grant.get("grant_type") === "authorization_code" && !verified)
        return json(response, 400, { error: "invalid_grant" });
      if (grant.get("grant_type") === "refresh_token" && (isEnded || grant.get("refresh_token") !== refresh))
        return json(response, 400, { error: "invalid_grant" });
      given += 1;
      refresh = `refresh-${given}-secret`;
      return json(response, 200, {
        access_token: `access-${given}-secret`,
        token_type: "Bearer",
        refresh_token: refresh,
        ...token,
      });
    }
    if (request.method !== "POST") return response.writeHead(405).end();
    const isNarrow = scope !== undefined && body.includes("tools/call");
    if (isNarrow && bearerOf(request) === `access-${given}-secret`)
      return response
        .writeHead(403, {
          "www-authenticate": `Bearer error="insufficient_scope", scope="${scope}", error_description="Writes need more"`,
        })
        .end();
    if (bearerOf(request) === `access-${given}-secret`) return echoing(() => true)(request, body, response);
    const resource = `${origin}/.well-known/oauth-protected-resource/mcp`;
    return response.writeHead(401, { "www-authenticate": `Bearer resource_metadata="${resource}"` }).end();
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  // A person who opens each address at once, and follows it back.
  const opened: string[] = [];
  const onAddress = (address: string) =>
    void (opened.push(address), fetch(address).then((response) => response.text()));
  const signIn = (more: Partial<OAuth> = {}) => sourceOf(server, { store: newStore(), onAddress, ...more });
  const end = () => ([isEnded, given] = [true, given + 1]);
  return { server, registered, grants, expire: () => (given += 1), end, opened, onAddress, signIn };
}

/** What comes of so many calls at once. */
const callsAtOnce = async (tools: McpSource["tools"], count: number) =>
  (
    await run(
      tools,
      `return Promise.all(Array.from({ length: ${count} }, () => tools.web.echo({}).catch(({ message }) => message)))`,
    )
  ).outcome;
const allGiven = (count: number) => ({ value: Array.from({ length: count }, () => expect.stringContaining("given")) });

describe("OAuth", () => {
  test("a person allows it once: registration, PKCE and tokens are kept for the owner alone, and used by the next process", async () => {
    const { server, registered, grants, opened, signIn } = await authorized();
    const store = newStore();
    {
      await using source = await signIn({ store });
      expect(JSON.stringify(await call(source.tools, "web.echo({})"))).toContain("given [secret]");
    }
    expect([opened.length, registered.length, grants.map((grant) => grant.get("grant_type"))]).toEqual([
      1,
      1,
      ["authorization_code"],
    ]);
    expect(statSync(store).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(store, "utf8"))).toMatchObject({
      servers: { [server.url]: { tokens: { access_token: "access-1-secret" } } },
    });
    await using source = await signIn({ store });
    expect([source.tools.length, opened.length, registered.length]).toEqual([1, 1, 1]);
  });

  test("a client's secret is for the authorization server that it names, and for no other that the MCP server names", async () => {
    const { server, grants, signIn } = await authorized({
      metadata: { registration_endpoint: null, token_endpoint_auth_methods_supported: ["client_secret_post"] },
    });
    const auth = { clientId: "known", clientSecret: "secret-of-client" };
    const issuer = new URL(server.url).origin;
    await using source = await signIn({ ...auth, issuer });
    expect(source.tools).toHaveLength(1);
    expect(grants.map((grant) => grant.get("client_secret"))).toEqual(["secret-of-client"]);
    const other = { ...auth, issuer: "https://login.example.com" };
    await expect(signIn(other)).rejects.toThrow(
      `its authorization server is "${issuer}", and not the \`issuer\` in \`auth\``,
    );
    expect(grants).toHaveLength(1);
    await expect(signIn(auth)).rejects.toThrow(
      "fromMcp({ auth: { issuer } }): expected the authorization server that `clientSecret` is for",
    );
  });

  test("tokens that are no longer taken are refreshed without a person", async () => {
    const { grants, expire, opened, signIn } = await authorized();
    await using source = await signIn();
    expire();
    await call(source.tools, "web.echo({})");
    expect([opened.length, grants.map((grant) => grant.get("grant_type"))]).toEqual([
      1,
      ["authorization_code", "refresh_token"],
    ]);
  });

  test("calls of two sources at the expiry of one store refresh once, and all are made", async () => {
    const { grants, expire, opened, signIn } = await authorized();
    const store = newStore();
    await using one = await signIn({ store });
    await using other = await signIn({ store });
    for (let times = 1; times <= 2; times += 1) {
      expire();
      const outcomes = await Promise.all([one, other].map(({ tools }) => callsAtOnce(tools, 4)));
      expect(outcomes).toMatchObject([allGiven(4), allGiven(4)]);
      expect([opened.length, grants.length]).toEqual([1, 1 + times]);
    }
  });

  test.each<[string, Authorizing]>([
    ["with a refresh token", {}],
    ["without a refresh token", { token: { refresh_token: undefined } }],
  ])("a grant %s that has ended is asked for again, once for calls at once", async (_what, how) => {
    const { end, opened, signIn } = await authorized(how);
    await using source = await signIn();
    end();
    expect(await callsAtOnce(source.tools, 3)).toMatchObject(allGiven(3));
    expect(opened).toHaveLength(2);
  });

  test.each<[number, string]>([
    [200, "bad_refresh_token"],
    [400, "invalid_request"],
    [401, "invalid_client"],
    [403, "access_denied"],
    [400, ""],
  ])("a refresh that is refused with %d %j is the end of the grant, and a person is asked", async (status, error) => {
    const hostile: Record<string, (to: ServerResponse) => unknown> = {};
    const { expire, opened, onAddress, signIn } = await authorized({ hostile });
    const open = (address: string) => {
      delete hostile["/token"];
      onAddress(address);
    };
    await using source = await signIn({ onAddress: open });
    expire();
    hostile["/token"] = (to) => json(to, status, { error });
    expect(await call(source.tools, "web.echo({})")).toMatchObject({ code: "handler_failed" });
    expect(opened).toHaveLength(2);
  });

  test.each<[string, (to: ServerResponse) => unknown, RegExp]>([
    ["answers 503", (to) => json(to, 503, { error: "down" }), /at the moment, and says: "down"/],
    ["has no time", (to) => json(to, 429, { error: "slow_down" }), /at the moment, and says: "slow_down"/],
    ["says so", (to) => json(to, 400, { error: "temporarily_unavailable" }), /at the moment, and says: "temporarily_/],
    ["answers with a page", (to) => to.writeHead(502).end("<html>"), /does not refresh tokens/],
    ["breaks off", (to) => to.destroy(), /does not refresh tokens/],
    ["repeats its request", (to) => to.writeHead(500).end("\u009b31m refresh-1-secret"), /does not refresh tokens/],
  ])(
    "a token endpoint that %s for a moment asks no person, loses no token, and writes nothing to this process's output",
    async (_what, fail, told) => {
      const hostile: NonNullable<Authorizing["hostile"]> & { "/token"?: (to: ServerResponse) => unknown } = {};
      const { expire, opened, signIn } = await authorized({ hostile });
      await using source = await signIn();
      using warned = vi.spyOn(console, "warn").mockReturnValue(undefined);
      expire();
      hostile["/token"] = fail;
      expect(await call(source.tools, "web.echo({})")).toMatchObject({
        message: expect.stringMatching(told) as string,
      });
      expect(JSON.stringify(warned.mock.calls)).not.toMatch(/secret|\u009b/);
      delete hostile["/token"];
      expect(await call(source.tools, "web.echo({})")).toMatchObject({ code: "handler_failed" });
      expect(opened).toHaveLength(1);
    },
  );

  test.each<[string, Authorizing]>([
    ["a token", { token: { scope: null, id_token: null, refresh_token: "", expires_in: null } }],
    ["a registration", { client: { client_uri: "", logo_uri: null, client_secret: null, jwks_uri: "" } }],
    ["metadata", { metadata: { revocation_endpoint: null, scopes_supported: null, service_documentation: "" } }],
    ["a token without its type", { token: { token_type: undefined, expires_in: "60" } }],
    ["a registration that gives the id alone", { client: { redirect_uris: undefined } }],
  ])("null, empty texts and what is left out in %s cost nothing but the field", async (_what, how) => {
    const { signIn } = await authorized(how);
    await using source = await signIn();
    expect(await call(source.tools, "web.echo({})")).toMatchObject({ code: "handler_failed" });
  });

  test.each<[string, Authorizing, RegExp]>([
    ["registers nobody", { metadata: { registration_endpoint: null } }, /registers no clients by itself: .*`clientId`/],
    [
      "refuses to register",
      { hostile: { "/register": (to) => json(to, 403, { error: "x", error_description: "Only partners" }) } },
      /has not registered this client: .*`clientId`.*, and says: "x: Only partners"/,
    ],
    [
      "sends the person back with an error",
      { back: { error: "invalid_scope", error_description: "No such scope" } },
      /not allowed by the person, or by its server, and says: "invalid_scope: No such scope"/,
    ],
    [
      "refuses to register in words of its own",
      { hostile: { "/register": (to) => json(to, 403, { detail: "Registration is closed." }) } },
      /has not registered this client: .*, and says: "Registration is closed\."/,
    ],
    [
      "answers with another body than metadata",
      { metadata: { issuer: 5 } },
      /\(issuer: Invalid input: expected string, received number\)/,
    ],
    [
      "gives no tokens",
      { hostile: { "/token": (to) => json(to, 400, { error: "odd", error_description: "x".repeat(9000) }) } },
      /gave no tokens, and says: "odd: x/,
    ],
    ["has another issuer", { metadata: { issuer: "https://other.example" } }, /gives no access: .*other\.example/],
  ])("an authorization server that %s is told in its own words, within bounds", async (_what, how, told) => {
    const { signIn } = await authorized(how);
    const failed = signIn();
    const { code, message } = (await failed.catch((error: unknown) => error)) as { code: string; message: string };
    expect([code, message]).toEqual(["source_unavailable", expect.stringMatching(told)]);
    expect(message).not.toContain("cannot be reached");
    expect(message.length).toBeLessThan(1500);
  });

  test("a call that needs a wider scope asks the person for it once, and then says what its server wants", async () => {
    const { opened, signIn } = await authorized({ scope: "write:x" });
    await using source = await signIn();
    const said = 'is not enough, and says: "insufficient_scope: Writes need more: write:x".';
    for (let times = 0; times < 2; times += 1)
      expect(await call(source.tools, "web.echo({})")).toMatchObject({
        message: expect.stringContaining(said) as string,
      });
    expect(opened.map((address) => new URL(address).searchParams.get("scope"))).toEqual([null, "write:x"]);
  });

  test("a process that does nothing else stays alive while a person signs in, and no longer", async () => {
    const { onAddress, signIn } = await authorized();
    const listening = () => process.getActiveResourcesInfo().filter((one) => one === "TCPServerWrap").length;
    let meanwhile = 0;
    await using source = await signIn({
      onAddress: (address) => {
        meanwhile = listening();
        onAddress(address);
      },
    });
    expect([meanwhile, source.tools.length]).toEqual([listening() + 1, 1]);
  });

  test("a person who never comes is told in one sentence", async () => {
    const { signIn } = await authorized();
    await expect(signIn({ onAddress: () => {}, waitMs: 1000 })).rejects.toMatchObject(
      failing("source_unavailable", "was not allowed within 1000 ms"),
    );
  });

  const WHOLE = 64;
  test.each(["/token", "/register", "/.well-known/oauth-authorization-server"])(
    "an answer of any size at %s is not read: its server is left",
    async (path) => {
      let sent = 0;
      const large = async (response: ServerResponse) => {
        response.writeHead(200, { "content-type": "application/json" });
        for (const piece = "[".repeat(1 << 20); sent < WHOLE && !response.destroyed; sent += 1)
          await new Promise((resolve) => void response.write(piece, resolve));
        response.end();
      };
      const { signIn } = await authorized({ hostile: { [path]: large } });
      await expect(signIn()).rejects.toHaveProperty("code", "source_unavailable");
      expect(sent).toBeGreaterThan(0);
      expect(sent).toBeLessThan(WHOLE);
    },
  );

  test.each<[string, Authorizing]>([
    ["a registration", { client: { client_id: "c".repeat(200_000) } }],
    ["a token", { token: { access_token: "a".repeat(200_000) } }],
  ])(
    "%s that would fill the file of credentials is not kept: other servers have theirs there",
    async (_what, hostile) => {
      const { signIn } = await authorized(hostile);
      const store = newStore();
      await expect(signIn({ store })).rejects.toHaveProperty("code", "source_unavailable");
      const other = tokenStore(store, "https://other.example/mcp");
      other.write({ tokens: { access_token: "o".repeat(20_000) } });
      expect(other.read()).toHaveProperty("tokens");
      expect(statSync(store).size).toBeLessThan(64 * 1024);
    },
  );

  test.each(["/token", "/.well-known/oauth-authorization-server"])(
    "a redirect of %s to another origin is not followed",
    async (path) => {
      await using other = await serve((_, __, response) => json(response, 200, {}));
      const { signIn } = await authorized({
        hostile: { [path]: (response) => response.writeHead(307, { location: other.url }).end() },
      });
      await expect(signIn()).rejects.toHaveProperty("code", "source_unavailable");
      expect(other.headers).toEqual([]);
    },
  );

  const recordOf = (address: string) => ({ address, family: 4 });
  test("a server on the public internet sends no request to a network of this machine", async () => {
    await using local = await serve((_, __, response) => json(response, 200, {}));
    const { host, port } = new URL(local.url);
    for (const address of [`http://${host}/`, `http://localhost:${port}/`, `http://[::ffff:127.0.0.1]:${port}/`])
      await expect(authFetch(new URL("https://1.1.1.1/mcp"), address)).rejects.toThrow("not on the public internet");
    // One of the server's own addresses is private, and another name has a private one only when it is connected to.
    const found = { "mixed.example": ["1.1.1.1", "10.0.0.1"], "turned.example": ["127.0.0.1"] };
    vi.spyOn(dnsPromises, "lookup").mockImplementation((async () => found["mixed.example"].map(recordOf)) as never);
    vi.spyOn(dns, "lookup").mockImplementation(((
      name: keyof typeof found,
      _: object,
      done: (...args: unknown[]) => void,
    ) => done(null, found[name].map(recordOf))) as never);
    syncBuiltinESMExports();
    await expect(authFetch(new URL("https://mixed.example"), `http://turned.example:${port}`)).rejects.toThrow(
      "internet",
    );
    vi.restoreAllMocks();
    syncBuiltinESMExports();
    expect(local.headers).toEqual([]);
    expect((await authFetch(new URL("http://127.0.0.1:9/mcp"), local.url)).status).toBe(200);
  });

  test("requests that do not know the state are no answer, and do no harm", async () => {
    const { signIn } = await authorized();
    const paths = ["/callback?code=stolen&state=guessed", "//", "//[", "/%", "http://[", "*", `/${"x".repeat(10_000)}`];
    const statuses: unknown[] = [];
    const onAddress = async (address: string) => {
      const { port } = new URL(new URL(address).searchParams.get("redirect_uri") ?? "");
      for (const path of paths) {
        const asked = get({ host: "127.0.0.1", port, path });
        const [response] = (await once(asked, "response")) as [IncomingMessage];
        statuses.push(response.resume().statusCode);
      }
    };
    await expect(signIn({ onAddress: (address) => void onAddress(address), waitMs: 1000 })).rejects.toMatchObject({
      code: "source_unavailable",
    });
    expect(statuses).toEqual(paths.map(() => 404));
  });
});

test("a port that is taken is refused if it was asked for, and another is taken and kept if not", async () => {
  const open = (more: object) =>
    OAuthClient.open({
      mcp: {} as never,
      source: "web",
      serverUrl: URL_OF_SERVER,
      options: readOAuth({ store: newStore(), ...more }),
      onToken: () => {},
    });
  const one = await open({});
  const port = Number(new URL(one.redirectUrl).port);
  await expect(open({ port })).rejects.toMatchObject(failing("option_invalid", `port ${port} `));
  const store = newStore();
  tokenStore(store, URL_OF_SERVER).write({ port, client: { client_id: "old" } });
  const other = await open({ store });
  expect(other.redirectUrl).not.toBe(one.redirectUrl);
  expect(other.clientInformation()).toBeUndefined();
  one.close();
  other.close();
});

describe("a store", () => {
  const kept = () => {
    const file = newStore();
    tokenStore(file, URL_OF_SERVER).write({ a: 1 });
    return file;
  };

  test.each([
    ["https://other.example/mcp"],
    ["https://mcp.example/other"],
    [`${URL_OF_SERVER}?server=b`],
    ["https://__proto__/mcp"],
  ])("gives what it has of one server to no other: %s", (other) => {
    const file = kept();
    expect(tokenStore(file, other).read()).toEqual({});
    tokenStore(file, other).write({ b: 1 });
    expect(tokenStore(file, URL_OF_SERVER).read()).toEqual({ a: 1 });
    expect(tokenStore(file, other).read()).toEqual({ b: 1 });
  });

  test("takes no server beyond what can be read again, and says what to do", () => {
    const file = newStore();
    const fill = () => {
      for (let n = 0; n < 20; n += 1) tokenStore(file, `https://${n}.example/`).write({ a: "a".repeat(30_000) });
    };
    expect(fill).toThrow("Name another file");
    expect(tokenStore(file, "https://0.example/").read()).toHaveProperty("a");
  });

  test.each<[string, (file: string) => void, string]>([
    ["that others may read", (file) => chmodSync(file, 0o644), "others may read or write it"],
    ["that is no JSON", (file) => writeFileSync(file, "{"), "it is no JSON"],
    ["of another form", (file) => writeFileSync(file, '{"tokens":{}}'), "it is not a file of credentials"],
    ["that is very large", (file) => writeFileSync(file, " ".repeat(300_000)), "it is not a file of credentials"],
  ])("%s is refused, and says what to do", async (_, spoil, why) => {
    const file = kept();
    spoil(file);
    expect(() => tokenStore(file, URL_OF_SERVER).read()).toThrow(why);
    await expect(fromMcp({ name: "web", url: "http://127.0.0.1:1", auth: { store: file } })).rejects.toMatchObject({
      code: "option_invalid",
    });
  });
});
