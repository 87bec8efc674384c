import { readFileSync } from "node:fs";
import { join } from "node:path";
import flights from "../../examples/flights/tools.ts";
import refunds from "../../examples/refunds/tools.ts";
import { createRuntime } from "../../src/index.ts";
import { createServer } from "../../src/serve/index.ts";
import { scriptedModel } from "../../src/runtime/testing.ts";

const root = join(import.meta.dirname, "../..");

const DELAYS = readFileSync(join(root, "examples/flights/program.js"), "utf8");
const QUESTION = "Between which states are flights delayed most?";

const REFUND = `// Refund the orders that never arrived
const orders = await tools.orders.list({});
const lost = orders.filter(({ complaint }) => complaint === "never arrived");
console.log(lost.length, "of", orders.length, "orders never arrived");
const done = [];
for (const { id, euros } of lost) done.push(await tools.orders.refund({ order: id, euros }));
return done;`;

/** Fails in its last line, after work that a reader can follow. */
const BROKEN = `// Mean delay by airport
const { flights } = await tools.flights.query({ fields: ["origin", "delay"] });
console.log(flights.length, "flights read");
const byOrigin = Map.groupBy(flights, ({ origin }) => origin);
return [...byOrigin].map(([origin, all]) => ({ origin, mean: all.delays.reduce((sum, one) => sum + one) }));`;

/** A server with executions of each kind, for pictures. */
export async function startScenes() {
  const runtime = await createRuntime({ tools: [...flights, ...refunds], approve: () => "later" });
  await runtime.execute(`// ${QUESTION}\n${DELAYS}`, { id: "flights" });
  await runtime.execute(`// ${QUESTION}\n${DELAYS.replace("offset }", "offset, limit: 500 }")}`, {
    id: "flights-again",
  });
  await runtime.execute(BROKEN, { id: "broken" });
  await runtime.execute(REFUND, { id: "refunds" });
  let { outcome } = await runtime.execute(REFUND, { id: "decided" });
  // The person takes a while for the first one.
  await new Promise((resolve) => setTimeout(resolve, 3000));
  while (outcome.type === "waiting") {
    const decisions = outcome.approvals.map(({ callId }) => [callId, { allow: true, by: "ann" }] as const);
    await runtime.execution("decided").decide(Object.fromEntries(decisions));
    ({ outcome } = await runtime.execution("decided").resume());
  }
  const model = scriptedModel([
    { text: "I look at the airports first.", calls: [{ tool: "airports.get", input: { iata: "SFO" } }] },
    { text: "Now all flights, in a program.", programs: [`// Pairs of states by mean delay\n${DELAYS}`] },
    () => ({
      text: "Flights from Georgia to New York are delayed most, by 22.8 minutes on average. Only pairs of states with at least 50 flights are counted.",
    }),
  ]);
  const { execution: conversation } = await runtime.agent({ model, task: QUESTION, programs: "local" });
  const server = await createServer(runtime);
  const { url } = await server.listen({ port: 0 });
  return {
    url: `${url}/#token=${server.token ?? ""}`,
    conversation,
    [Symbol.asyncDispose]: async () => {
      await server.close({ drainMs: 0 });
      await runtime[Symbol.asyncDispose]();
    },
  };
}
