import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse, request } from "node:http";
import type { AddressInfo } from "node:net";

/** What becomes of a request on its way to an owner. */
export type Fate = "pass" | "lost before" | "lost after" | "late";

/** A server between workers and an owner, which loses what a test wants, and may lead to another owner later. */
export class Between implements AsyncDisposable {
  target = "";
  /** The fates of the next calls, in order; `pass` for all others. */
  readonly fates: Fate[] = [];
  /** Called with each call that has reached the owner and whose answer is lost. */
  onLost: () => void = () => {};
  /** Answers that are late are passed on when this resolves. */
  released = Promise.withResolvers<void>();
  /** Whether nothing is passed on, and nothing answered. */
  isSilent = false;
  /** Called with each call whose answer was passed on. */
  onPassed: () => void = () => {};
  /** Paths of all requests that came. */
  readonly seen: string[] = [];
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async open(target: string): Promise<Between> {
    const server = createServer((incoming, outgoing) => void between.#take(incoming, outgoing));
    const between = new Between(server);
    between.target = target;
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return between;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async #take(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    this.seen.push(incoming.url ?? "");
    const fate = incoming.url === "/v1/calls" ? (this.fates.shift() ?? "pass") : "pass";
    if (this.isSilent) return;
    const chunks = await Array.fromAsync(incoming as AsyncIterable<Buffer>);
    if (fate === "lost before") return void incoming.socket.destroy();
    const forwarded = request(this.target + incoming.url, {
      method: incoming.method,
      headers: { ...incoming.headers, host: new URL(this.target).host },
      agent: false,
    });
    forwarded.on("error", () => incoming.socket.destroy());
    forwarded.on("response", (answer) => {
      if (fate === "lost after") {
        answer.resume();
        incoming.socket.destroy();
        this.onLost();
        return;
      }
      const pass = () => {
        outgoing.writeHead(answer.statusCode ?? 0, answer.headers);
        if (incoming.url === "/v1/calls") outgoing.once("finish", () => this.onPassed());
        answer.pipe(outgoing);
      };
      if (fate === "late") void this.released.promise.then(pass);
      else pass();
    });
    forwarded.end(Buffer.concat(chunks));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}
