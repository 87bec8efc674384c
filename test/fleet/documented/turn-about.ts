import { type ClientRequest, createServer, request as ask } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";

/** A load balancer that gives each request to the next server, whatever it holds. */
export async function takingTurns(ports: readonly number[]) {
  const asked: { readonly server: number; readonly request: string }[] = [];
  const open = new Set<ClientRequest>();
  const balancer = createServer((request, response) => {
    const server = asked.length % ports.length;
    asked.push({ server, request: `${request.method} ${request.url}` });
    const { method, url, headers } = request;
    const passed = ask({ host: "127.0.0.1", port: ports[server], method, path: url, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    open.add(passed);
    passed.on("close", () => open.delete(passed));
    passed.on("error", () => response.destroy());
    response.on("close", () => passed.destroy());
    request.pipe(passed);
  }).listen(0, "127.0.0.1");
  await once(balancer, "listening");
  return {
    port: (balancer.address() as AddressInfo).port,
    asked,
    [Symbol.asyncDispose]: async () => {
      for (const passed of open) passed.destroy();
      balancer.closeAllConnections();
      balancer.close();
      await once(balancer, "close");
    },
  };
}
