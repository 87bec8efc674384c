import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { parseAllowList } from "../../../../src/sandboxes/docker/egress/names/allow-list.ts";
import { type EgressLimits, USUAL_EGRESS_LIMITS } from "../../../../src/sandboxes/docker/egress/egress-plan.ts";
import { EgressProxy } from "../../../../src/sandboxes/docker/egress/egress-proxy.ts";
import type { Connection } from "../../../../src/sandboxes/sandbox.ts";
import { newFolder } from "../../../support/new-folder.ts";

interface ProxyOptions {
  readonly hosts: readonly string[];
  /** Addresses by host; a list for each time that it is asked for. Loopback by default. */
  readonly lookup?: (host: string) => Promise<readonly string[]>;
  readonly mayReach?: (address: string) => boolean;
  readonly limits?: Partial<EgressLimits>;
}

export interface OpenProxy {
  readonly proxy: EgressProxy;
  readonly path: string;
  /** What it told of, in order. */
  readonly told: readonly Connection[];
  /** Resolves once it has told of so many. */
  toldOf(count: number): Promise<readonly Connection[]>;
  connect(): Socket;
  /** Sends these bytes, and resolves with all that comes back until the end. */
  say(...texts: readonly (string | Buffer)[]): Promise<string>;
}

/** A proxy on a socket of its own, whose world is this machine's loopback. */
export async function openProxy({ hosts, lookup, mayReach, limits }: ProxyOptions): Promise<OpenProxy> {
  const path = join(newFolder(onTestFinished), "socket");
  const told: Connection[] = [];
  const waiting: (() => void)[] = [];
  const plan = {
    allowed: parseAllowList("hosts", hosts),
    limits: { ...USUAL_EGRESS_LIMITS, ...limits },
    lookup: lookup ?? (async () => ["127.0.0.1"]),
    mayReach: mayReach ?? ((address: string) => address === "127.0.0.1"),
  };
  const proxy = new EgressProxy(plan, (connection) => {
    told.push(connection);
    for (const look of waiting) look();
  });
  await proxy.listen(path);
  const sockets: Socket[] = [];
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
  });
  const connectToProxy = () => {
    const socket = connect({ path, allowHalfOpen: true });
    socket.on("error", () => {});
    sockets.push(socket);
    return socket;
  };
  return {
    proxy,
    path,
    told,
    toldOf: (count) =>
      new Promise((resolve) => {
        const look = () => told.length >= count && resolve(told);
        waiting.push(look);
        look();
      }),
    connect: connectToProxy,
    say: (...texts) =>
      new Promise((resolve) => {
        const socket = connectToProxy();
        let heard = "";
        socket.on("data", (chunk: Buffer) => (heard += chunk.toString("latin1")));
        socket.once("end", () => socket.end());
        socket.once("close", () => resolve(heard));
        for (const text of texts) socket.write(text);
      }),
  };
}
