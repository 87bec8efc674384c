import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

type Part = Readonly<Record<string, unknown>>;

/** A document of OpenAPI, as far as it is read here. */
export interface Described {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Part>>>>;
}

/**
 * A server on this machine that plays an API: it answers each operation of its document with the document's own example, if
 * the request carries the token. Keeps no process running.
 */
export async function playApi(document: Described, token: string): Promise<{ readonly url: string }> {
  const routes = Object.entries(document.paths).map(([path, operations]) => ({
    parts: path.split("/"),
    operations,
  }));
  const server = createServer((request, response) => {
    const { method = "", url = "/", headers } = request;
    const parts = url.split("?", 1)[0]!.split("/");
    const fits = (route: readonly string[]) =>
      route.length === parts.length && route.every((part, index) => part.startsWith("{") || part === parts[index]);
    const operation = routes.find((route) => fits(route.parts))?.operations[method.toLowerCase()];
    const example = operation && exampleOf(document, operation);
    const [status, body] =
      headers.authorization !== `Bearer ${token}`
        ? [401, { message: "Bad credentials" }]
        : example === undefined
          ? [404, { message: "Not Found" }]
          : [200, example];
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  server.unref();
  server.on("connection", (socket) => socket.unref());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** The first example of an operation's answer with a status; undefined if it has none. */
export function exampleOf(document: Described, operation: Part, status = "200"): unknown {
  const at = (part: unknown, ...names: readonly string[]): unknown => {
    let found = followed(document, part);
    for (const name of names) found = followed(document, (found as Part | undefined)?.[name]);
    return found;
  };
  const media = at(operation, "responses", status, "content", "application/json");
  const [name = ""] = Object.keys(at(media, "examples") ?? {});
  return at(media, "examples", name, "value");
}

function followed(document: Described, part: unknown): unknown {
  const reference = (part as Part | undefined)?.$ref;
  if (typeof reference !== "string") return part;
  const names = reference.slice(2).split("/");
  return followed(
    document,
    names.reduce<unknown>((found, name) => (found as Part | undefined)?.[name], document),
  );
}
