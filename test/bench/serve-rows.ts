import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import type { Runtime } from "portcullis";
import { createServer } from "portcullis/serve";
import { median, perSecond, timed } from "./measure.js";
import type { Row } from "./row.ts";

const PROGRAM = "return 1 + 1";
const ROUNDS = 300;
const WARM_UP = 100;

/** What the HTTP server adds to a program: the same one by `runtime.execute`, in turn with it. */
export async function serveRows(row: Row, runtime: Runtime, ready: () => Promise<void>): Promise<void> {
  const token = "the-token-of-the-benchmark";
  const server = await createServer(runtime, { token });
  const { url } = await server.listen({ port: 0 });
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const ask = async (method: string, path: string, body?: unknown): Promise<string> => {
    const sent = request(`${url}${path}`, { method, agent, headers });
    sent.end(body === undefined ? undefined : JSON.stringify(body));
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    let text = "";
    for await (const chunk of response.setEncoding("utf8")) text += chunk;
    if (response.statusCode !== 200) throw new Error(`${method} ${path}: ${text}`);
    return text;
  };
  const post = () => ask("POST", "/v1/executions", { program: PROGRAM });
  try {
    const own: number[] = [];
    const overHttp: number[] = [];
    for (let round = 0; round < ROUNDS + WARM_UP; round += 1) {
      await ready();
      const direct = await timed(() => runtime.execute(PROGRAM));
      await ready();
      const served = await timed(post);
      if (round < WARM_UP) continue;
      own.push(direct);
      overHttp.push(served);
    }
    const what = "`return 1 + 1` by POST /v1/executions, client in the same process";
    row(what, median(overHttp), "ms", median(own), "≤ 1 ms more");
    const wide = { wide: 8, seconds: 5 };
    const bare = () => perSecond(() => runtime.execute(PROGRAM), wide);
    row("such requests a second, 8 wide", await perSecond(post, wide), "/s", await bare(), "");
    const { execution } = JSON.parse(await post()) as { readonly execution: string };
    const reads = await perSecond(() => ask("GET", `/v1/executions/${execution}`), { wide: 8, seconds: 3 });
    row("GET /v1/executions/:id a second, 8 wide", reads, "/s", undefined, "");
  } finally {
    agent.destroy();
    await server.close({ drainMs: 0 });
  }
}
