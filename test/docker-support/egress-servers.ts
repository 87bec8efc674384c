import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { createServer as createRawServer, type AddressInfo, type Socket } from "node:net";
import type { SecureContextOptions } from "node:tls";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

const certificate = (name: string) =>
  readFileSync(fileURLToPath(new URL(`egress-certificates/${name}.pem`, import.meta.url)), "utf8");

/** Whoever signed the servers' certificate, as text. */
export const AUTHORITY = certificate("authority");

/** A server on this machine's loopback, for programs to reach. */
export interface TestServer {
  readonly port: number;
  /** What it was asked, as `METHOD url host`. */
  readonly asked: readonly string[];
}

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** Says what it was asked, and the body that came. */
const echo: Answer = (request, response) => {
  const parts: Buffer[] = [];
  request.on("data", (part: Buffer) => parts.push(part));
  request.on("end", () => response.end(`${request.method} ${request.url} ${Buffer.concat(parts).toString()}`));
};

export function httpServer(answer: Answer = echo): Promise<TestServer> {
  return listen(createServer({ insecureHTTPParser: true }), answer);
}

/** With a certificate for allowed.test, other.test and what is below below.test. */
export function tlsServer(answer: Answer = echo, options: SecureContextOptions = {}): Promise<TestServer> {
  return listen(createTlsServer({ key: certificate("server-key"), cert: certificate("server"), ...options }), answer);
}

/** A server that speaks no protocol, and passes on its connections. Resolves with its port. */
export async function rawServer(onSocket: (socket: Socket) => void): Promise<number> {
  const sockets: Socket[] = [];
  const server = createRawServer({ allowHalfOpen: true }, (socket) => {
    sockets.push(socket);
    socket.on("error", () => {});
    onSocket(socket);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

async function listen(server: Server, answer: Answer): Promise<TestServer> {
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
  });
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    asked.push(`${request.method} ${request.url} ${request.headers.host}`);
    answer(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, asked };
}
