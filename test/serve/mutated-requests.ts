import * as fc from "fast-check";
import { expect } from "vitest";
import { type ProblemCode, statusOf } from "../../src/serve/http/problems.ts";
import { keyOf, type OpenServer } from "./servers.ts";
import { anyCharacter } from "../support/any-character.ts";

const ids = [..."e never %2F ..%2f.. %00 a%2Fb %ff é * __proto__ constructor".split(" "), "x".repeat(9000)];
const paths = fc.oneof(
  fc.constantFrom("/v1/executions", "/healthz", "/readyz", "/metrics", "/openapi.json", "/mcp", "/", "/page.js"),
  fc
    .tuple(
      fc.constantFrom(...ids),
      fc.constantFrom("", "/events", "/decisions", "/results", "/cancel", "/view", "/calls/1", "/calls/%2F", "/x"),
    )
    .map(([id, rest]) => `/v1/executions/${id}${rest}`),
  fc.string({ unit: anyCharacter, maxLength: 40 }).map((text) => `/${encodeURIComponent(text.toWellFormed())}`),
);
const queries = fc.constantFrom(
  ..."   ?state=ended ?limit=0 ?limit=9e9 ?cursor=-1 ?state=x ?a=1&a=2 ?__proto__=1 ?text=%00".split(" "),
);
const methods = fc.constantFrom("GET", "GET", "POST", "POST", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD");
const value = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom<unknown>({ allow: true }, { value: 1 }, { error: "no" }, { done: { value: 1 } }, -0, "", "\u0000"),
);
const name = fc.constantFrom("1", "__proto__", "constructor", "toString", "", "call_1/2", "x".repeat(300), "\ud800");
const many = (text: string) => text.repeat(20_000);
const body = fc.oneof(
  fc.constantFrom(...' { [] null 1 "x" \u0000 {"program":1e999}'.split(" "), ...["[", '{"a":'].map(many)),
  fc.record(
    {
      program: fc.oneof(fc.constantFrom<unknown>("return 1", "return (", "throw 1", "", 1, null), fc.string()),
      language: fc.oneof(fc.constantFrom<unknown>("javascript", "python", "cobol", 4), fc.string()),
      limits: fc.oneof(value, fc.record({ calls: fc.oneof(fc.integer(), fc.double(), value) })),
      id: fc.oneof(fc.constantFrom<unknown>("e", "bolt:e", "acme:e", "", " ", "\u0000", "\ud800", 7), fc.string()),
      wait: value,
    },
    { requiredKeys: [] },
  ),
  fc.record({ decisions: fc.oneof(value, fc.dictionary(name, value)) }),
  fc.record({ results: fc.oneof(value, fc.dictionary(name, value)) }),
  value,
);
const KEY = keyOf("ann");
const headers = fc.record(
  {
    authorization: fc.constantFrom(
      ..."/Bearer/Bearer x/Basic YTpi".split("/"),
      `bearer ${KEY}`,
      `Bearer ${keyOf("bob")}`,
    ),
    "content-type": fc.constantFrom("text/plain", "application/json; charset=x", "application/JSON", "", ";"),
    "content-length": fc.constantFrom("-1", "x", "99999999999", "0"),
    "last-event-id": fc.constantFrom("", "0", "1.1", "-1", "9".repeat(40), "x"),
    origin: fc.constantFrom("null", "http://localhost", "http://evil.example", "http://localhost.evil.example", ""),
    host: fc.constantFrom("localhost", "localhost:1", "evil.example", "", "[::1]", "[", "localhost\u00e9"),
  },
  { requiredKeys: [] },
);

/**
 * Sends so many requests that are changed at random, and holds that each has a status of the table. Resolves with the codes of
 * those that were refused.
 */
export async function sendMutated(door: OpenServer, numRuns: number): Promise<ReadonlySet<string>> {
  await door.run({ program: "return await tools.bank.pay({ amount: 1 })", id: "e" });
  const codes = new Set<string>();
  await fc.assert(
    fc.asyncProperty(methods, paths, queries, body, headers, async (method, path, query, sent, given) => {
      let request: Request;
      try {
        request = new Request(`http://localhost${path}${query}`, {
          method,
          headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json", ...given },
          ...(method === "GET" || method === "HEAD"
            ? {}
            : { body: typeof sent === "string" ? sent : JSON.stringify(sent) }),
        });
      } catch {
        // No client can send that.
        return;
      }
      const response = await door.server.fetch(request);
      const isStream = response.headers.get("content-type") === "text/event-stream";
      if (isStream) {
        await response.body?.cancel();
        return;
      }
      const text = await response.text();
      expect(response.status).not.toBe(500);
      if (response.status < 400 || method === "HEAD" || path === "/mcp") return;
      const { error } = JSON.parse(text) as {
        readonly error: { readonly code: ProblemCode; readonly message: string };
      };
      codes.add(error.code);
      expect(statusOf(error.code)).toBe(response.status);
      expect(error.code).not.toBe("server_failed");
      expect(error.message).not.toMatch(/\bat .+:\d+:\d+|node_modules|\/src\//);
      expect(error.message).not.toMatch(/Invalid input|Too (?:small|big)|Invalid option|[<>]=/);
      expect(error.message.length).toBeLessThan(2000);
    }),
    {
      numRuns,
      // One for each code that is expected below: those that are drawn may miss it.
      examples: [
        ["POST", "/v1/executions", "", {}, {}],
        ["GET", "/v1/executions/never", "", "", {}],
        ["GET", "/v1/executions", "", "", { authorization: "Bearer x" }],
        ["PUT", "/v1/executions", "", "", {}],
      ],
    },
  );
  return codes;
}
