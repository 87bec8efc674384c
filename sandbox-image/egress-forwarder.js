// @ts-check
/*
 * The way out of a container that has one, seen from inside: hands every connection to a port on the container's own
 * loopback on to the socket of the host's proxy, because clients know proxies by port only. It is a convenience: what
 * may be reached is decided on the other side of that socket, which a program could use as well.
 *
 * Arguments: the port, and the socket's path. Says `ready` on descriptor 3 once it listens, and closes it.
 */
"use strict";
const { closeSync, writeSync } = require("node:fs");
const { connect, createServer } = require("node:net");

const TELLING = 3;
/** As many as the proxy takes at once, and some that it refuses in words. */
const CONNECTIONS = 64;

const [port, path] = process.argv.slice(2);

const server = createServer({ allowHalfOpen: true }, (client) => {
  const proxy = connect({ path: path ?? "", allowHalfOpen: true });
  client.pipe(proxy).pipe(client);
  const end = () => {
    client.destroySoon();
    proxy.destroySoon();
  };
  for (const socket of [client, proxy]) socket.on("error", end).on("close", end);
});
server.maxConnections = CONNECTIONS;
server.listen({ port: Number(port), host: "127.0.0.1" }, () => {
  writeSync(TELLING, "ready");
  closeSync(TELLING);
});
