import { createHash } from "node:crypto";
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { fromMcp, type McpServer } from "../../../src/index.ts";
import { readOAuth } from "../../../src/sources/mcp/auth/auth-option.ts";
import { authFetch } from "../../../src/sources/mcp/auth/auth-fetch.ts";
import { OAuthClient } from "../../../src/sources/mcp/auth/oauth-client.ts";
import { tokenAccess } from "../../../src/sources/mcp/auth/token-access.ts";
import { TokenStore } from "../../../src/sources/mcp/auth/token-store.ts";
import { type HttpServer, serve } from "./http-servers.ts";
import { call, READ } from "./servers.ts";

const folder = mkdtempSync(join(tmpdir(), "portcullis-auth-"));
let files = 0;
const URL_OF_SERVER = "https://mcp.example/mcp";
const newStore = () => join(folder, `store-${(files += 1)}`, "tokens.json");
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const json = (response: ServerResponse, status: number, body: object, headers = {}) =>
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));

/** A server with the tool `echo` that takes some tokens alone, and says in its answer which it was given. */
function answerMcp(body: Buffer, response: ServerResponse, token: string): unknown {
  const { id, method } = JSON.parse(body.toString()) as { readonly id?: number; readonly method: string };
  if (id === undefined) return response.writeHead(202).end();
  const results: Record<string, object> = {
    initialize: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "t", version: "1" } },
    "tools/list": { tools: [{ name: "echo", inputSchema: { type: "object" } }] },
    "tools/call": { content: [{ type: "text", text: `given ${token}` }], isError: true },
  };
  const result = results[method];
  if (!result) return json(response, 200, { jsonrpc: "2.0", id, error: { code: -32601, message: "no" } });
  return json(response, 200, { jsonrpc: "2.0", id, result });
}

const bearerOf = ({ headers }: IncomingMessage) => (headers.authorization ?? "").replace("Bearer ", "");

const guarded = (isTaken: (token: string) => boolean) =>
  serve((request, body, response) => {
    if (request.method !== "POST") return response.writeHead(405).end();
    const token = bearerOf(request);
    return isTaken(token) ? answerMcp(body, response, token) : response.writeHead(401).end();
  });
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
    await expect(sourceOf(server, () => "token-bad-1")).rejects.toMatchObject({
      code: "source_unavailable",
      message: expect.stringContaining("answered with the status 401") as string,
    });
    expect(server.headers).toHaveLength(2);
  });

  test.each([5, "", "a b", "a\nb", null])("that gives %j is refused before any request has it", async (given) => {
    const access = tokenAccess(
      () => given as never,
      () => {},
    );
    await expect(access.token()).rejects.toMatchObject({ code: "source_unavailable" });
  });

  test.each<[object, string]>([
    [{ command: "x", auth: () => "a" }, "auth goes with url only"],
    [
      { url: "http://127.0.0.1:1", auth: "token" },
      "fromMcp({ auth }): expected a function that gives a token, or { store }",
    ],
    [{ url: "http://127.0.0.1:1", auth: { file: "x" } }, "fromMcp({ auth }): expected"],
    [{ url: "http://127.0.0.1:1", auth: { store: "x", prot: 1 } }, "prot"],
  ])("malformed: %j", async (server, why) => {
    await expect(fromMcp({ name: "web", ...server })).rejects.toMatchObject({
      code: "option_invalid",
      message: expect.stringContaining(why) as string,
    });
  });
});

/** An authorization server and the MCP server that it guards. */
async function authorized({
  denies = false,
  hostile = {},
}: { denies?: boolean; hostile?: Readonly<Record<string, (response: ServerResponse) => unknown>> } = {}) {
  const registered: { redirect_uris: string[] }[] = [];
  const grants: URLSearchParams[] = [];
  let challenge = "";
  let given = 0;
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
      });
    if (pathname === "/register") {
      const client = JSON.parse(body.toString()) as { redirect_uris: string[] };
      registered.push(client);
      return json(response, 201, { ...client, client_id: `client-${registered.length}` });
    }
    if (pathname === "/authorize") {
      challenge = searchParams.get("code_challenge") ?? "";
      const back = new URL(searchParams.get("redirect_uri") ?? "");
      back.searchParams.set("state", searchParams.get("state") ?? "");
      back.searchParams.set(denies ? "error" : "code", denies ? "access_denied" : "code-1");
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
      given += 1;
      return json(response, 200, {
        access_token: `access-${given}-secret`,
        token_type: "Bearer",
        refresh_token: "refresh-secret",
      });
    }
    if (request.method !== "POST") return response.writeHead(405).end();
    if (bearerOf(request) === `access-${given}-secret`) return answerMcp(body, response, bearerOf(request));
    const metadata = `${origin}/.well-known/oauth-protected-resource/mcp`;
    return response.writeHead(401, { "www-authenticate": `Bearer resource_metadata="${metadata}"` }).end();
  });
  return {
    server,
    registered,
    grants,
    expire: () => {
      given += 1;
    },
  };
}

/** A person who opens each address at once, and follows it back. */
function person() {
  const opened: string[] = [];
  return {
    opened,
    onAddress: (address: string) => void (opened.push(address), fetch(address).then((response) => response.text())),
  };
}

describe("OAuth", () => {
  test("a person allows it once: registration, PKCE and tokens are kept for the owner alone, and used by the next process", async () => {
    const { server, registered, grants } = await authorized();
    await using _ = server;
    const store = newStore();
    const { opened, onAddress } = person();
    {
      await using source = await sourceOf(server, { store, onAddress });
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
    await using source = await sourceOf(server, { store, onAddress });
    expect([source.tools.length, opened.length, registered.length]).toEqual([1, 1, 1]);
  });

  test("tokens that are no longer taken are refreshed without a person", async () => {
    const { server, grants, expire } = await authorized();
    await using _ = server;
    const { opened, onAddress } = person();
    await using source = await sourceOf(server, { store: newStore(), onAddress });
    expire();
    await call(source.tools, "web.echo({})");
    expect([opened.length, grants.map((grant) => grant.get("grant_type"))]).toEqual([
      1,
      ["authorization_code", "refresh_token"],
    ]);
  });

  test("a person who declines, and one who never comes, are told in one sentence", async () => {
    const { server } = await authorized({ denies: true });
    await using _ = server;
    const { onAddress } = person();
    const message = expect.stringContaining("was not allowed") as string;
    await expect(sourceOf(server, { store: newStore(), onAddress })).rejects.toMatchObject({
      code: "source_unavailable",
      message,
    });
    await expect(sourceOf(server, { store: newStore(), onAddress: () => {}, waitMs: 1000 })).rejects.toMatchObject({
      code: "source_unavailable",
      message: expect.stringContaining("was not allowed within 1000 ms") as string,
    });
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
      const { server } = await authorized({ hostile: { [path]: large } });
      await using _ = server;
      await expect(sourceOf(server, { store: newStore(), onAddress: person().onAddress })).rejects.toHaveProperty(
        "code",
        "source_unavailable",
      );
      expect(sent).toBeGreaterThan(0);
      expect(sent).toBeLessThan(WHOLE);
    },
  );

  test.each(["/token", "/.well-known/oauth-authorization-server"])(
    "a redirect of %s to another origin is not followed",
    async (path) => {
      await using other = await serve((_, __, response) => json(response, 200, {}));
      const { server } = await authorized({
        hostile: { [path]: (response) => response.writeHead(307, { location: other.url }).end() },
      });
      await using _ = server;
      await expect(sourceOf(server, { store: newStore(), onAddress: person().onAddress })).rejects.toHaveProperty(
        "code",
        "source_unavailable",
      );
      expect(other.headers).toEqual([]);
    },
  );

  test("a server on the public internet sends no request to a network of this machine", async () => {
    await using local = await serve((_, __, response) => json(response, 200, {}));
    const { host, port } = new URL(local.url);
    for (const address of [`http://${host}/`, `http://localhost:${port}/`, `http://[::ffff:127.0.0.1]:${port}/`])
      await expect(authFetch(new URL("https://1.1.1.1/mcp"), address)).rejects.toThrow("not on the public internet");
    expect(local.headers).toEqual([]);
    expect((await authFetch(new URL("http://127.0.0.1:9/mcp"), local.url)).status).toBe(200);
  });

  test("a page that does not know the state is no answer", async () => {
    const { server } = await authorized();
    await using _ = server;
    const statuses: number[] = [];
    const onAddress = (address: string) => {
      const back = new URL(new URL(address).searchParams.get("redirect_uri") ?? "");
      back.search = "?code=stolen&state=guessed";
      void fetch(back).then(({ status }) => statuses.push(status));
    };
    await expect(sourceOf(server, { store: newStore(), onAddress, waitMs: 1000 })).rejects.toMatchObject({
      code: "source_unavailable",
    });
    expect(statuses).toEqual([404]);
  });
});

test("a port that is taken is refused if it was asked for, and another is taken and kept if not", async () => {
  const open = (more: object) =>
    OAuthClient.open("web", URL_OF_SERVER, readOAuth({ store: newStore(), ...more }), () => {});
  const one = await open({});
  const port = Number(new URL(one.redirectUrl).port);
  await expect(open({ port })).rejects.toMatchObject({
    code: "option_invalid",
    message: expect.stringContaining(`port ${port} `) as string,
  });
  const store = newStore();
  new TokenStore(store, URL_OF_SERVER).write({ port, client: { client_id: "old" } });
  const other = await open({ store });
  expect(other.redirectUrl).not.toBe(one.redirectUrl);
  expect(other.clientInformation()).toBeUndefined();
  one.close();
  other.close();
});

describe("a store", () => {
  const kept = () => {
    const file = newStore();
    new TokenStore(file, URL_OF_SERVER).write({ a: 1 });
    return file;
  };

  test("is replaced as a whole, with nothing beside it", () => {
    const file = kept();
    new TokenStore(file, URL_OF_SERVER).write({ a: 2 });
    expect(new TokenStore(file, URL_OF_SERVER).read()).toEqual({ a: 2 });
    expect(new TokenStore(`${file}.none`, URL_OF_SERVER).read()).toEqual({});
  });

  test.each([["https://other.example/mcp"], ["https://mcp.example/other"], ["https://__proto__/mcp"]])(
    "gives what it has of one server to no other: %s",
    (other) => {
      const file = kept();
      expect(new TokenStore(file, other).read()).toEqual({});
      new TokenStore(file, other).write({ b: 1 });
      expect(new TokenStore(file, URL_OF_SERVER).read()).toEqual({ a: 1 });
      expect(new TokenStore(file, other).read()).toEqual({ b: 1 });
    },
  );

  test.each<[string, (file: string) => void, string]>([
    ["that others may read", (file) => chmodSync(file, 0o644), "others may read or write it"],
    ["that is no JSON", (file) => writeFileSync(file, "{"), "it is no JSON"],
    ["of another form", (file) => writeFileSync(file, '{"tokens":{}}'), "it is not a file of credentials"],
    ["that is very large", (file) => writeFileSync(file, " ".repeat(300_000)), "it is not a file of credentials"],
  ])("%s is refused, and says what to do", async (_, spoil, why) => {
    const file = kept();
    spoil(file);
    expect(() => new TokenStore(file, URL_OF_SERVER).read()).toThrow(why);
    await expect(fromMcp({ name: "web", url: "http://127.0.0.1:1", auth: { store: file } })).rejects.toMatchObject({
      code: "option_invalid",
    });
  });
});
