import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Proxy extends AsyncDisposable {
  /** Where the target's `/` is, with a slash at its end. */
  readonly url: string;
  /** Methods and paths of the requests, in their order. */
  readonly asked: string[];
  /** Answers to requests of this method are no longer passed on, and have no end. */
  deafTo: string | undefined;
}

/** A proxy that serves another server below a path, and nothing beside it. */
export async function startProxy(target: string, path: string, port = 0): Promise<Proxy> {
  const asked: string[] = [];
  const pass = (incoming: IncomingMessage, answer: ServerResponse) => {
    const { method = "", url = "", headers } = incoming;
    asked.push(`${method} ${url}`);
    if (!url.startsWith(path)) return void answer.writeHead(404).end();
    const onward = request(new URL(url.slice(path.length - 1), target), { method, headers }, (got) => {
      answer.writeHead(got.statusCode ?? 0, got.headers);
      got.on("data", (part: Buffer) => proxy.deafTo !== method && answer.write(part));
      got.on("end", () => proxy.deafTo !== method && answer.end());
    });
    answer.on("close", () => onward.destroy());
    onward.on("error", () => answer.destroy());
    incoming.pipe(onward);
  };
  const server = createServer(pass).listen(port, "127.0.0.1");
  await once(server, "listening");
  const proxy: Proxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
    asked,
    deafTo: undefined,
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
  return proxy;
}
