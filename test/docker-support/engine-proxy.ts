import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished, vi } from "vitest";
import { Daemon } from "../../src/sandboxes/docker/daemon.ts";

export interface EngineProxy {
  /** As if the engine were stopped: every connection ends, and none is made any more. */
  stop(): void;
}

/** Stands between this process and its engine, for a test to cut them apart. Only for engines on a socket of this machine. */
export async function engineProxy(): Promise<EngineProxy> {
  const engine = new Daemon().address.replace("unix://", "");
  const folder = mkdtempSync(join(tmpdir(), "portcullis-"));
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    const other = connect(engine);
    for (const [from, to] of [
      [socket, other],
      [other, socket],
    ] as const) {
      sockets.add(from);
      from.pipe(to);
      from.on("error", () => to.destroy());
      from.on("close", () => sockets.delete(from));
    }
  });
  const address = join(folder, "socket");
  await new Promise<void>((resolve) => {
    server.listen(address, resolve);
  });
  vi.stubEnv("DOCKER_HOST", `unix://${address}`);
  const stop = () => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  onTestFinished(() => {
    vi.unstubAllEnvs();
    stop();
    rmSync(folder, { recursive: true, force: true });
  });
  return { stop };
}
