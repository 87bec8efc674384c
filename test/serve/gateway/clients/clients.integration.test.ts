import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { serve, type Wire, type WireStep } from "../../../models/wire.ts";
import { WIRES } from "../../../models/wires.ts";
import { testOfAll } from "../../../support/all-tests.ts";
import { openGateway, restartedGateway } from "../gateways.ts";
import { aiAnthropic, aiOpenai } from "./ai-sdk-clients.ts";
import { messages, toolRunner } from "./anthropic-clients.ts";
import { agents } from "./agents-client.ts";
import { responses } from "./openai-clients.ts";
import { ownAnthropic, ownOpenai } from "./own-client.ts";
import { type Client, PROGRAM } from "./task.ts";

/*
 * Unmodified packages against the gateway, whose model is an adapter of this package that asks a server as strict as its
 * provider. A program pauses twice and the model calls once itself; all three are answered by the client. `restarted` is a
 * server that is closed after each answer, so that every pause lies in the journal alone.
 */

const unstored = responses(false);
const CLIENTS: readonly (readonly [name: string, client: Client])[] = [
  ["`@anthropic-ai/sdk`: `messages`", messages],
  ["`@anthropic-ai/sdk`: `toolRunner`", toolRunner],
  ["`openai`: `responses`, stored", responses(true)],
  ["`openai`: `responses`, not stored", unstored],
  ["`@openai/agents`", agents],
  ["`ai` with `@ai-sdk/anthropic`", aiAnthropic],
  ["`ai` with `@ai-sdk/openai`, stored", aiOpenai(true)],
  ["`ai` with `@ai-sdk/openai`, not stored", aiOpenai(false)],
  ["this package: `anthropic()`", ownAnthropic],
  ["this package: `openai()`, stored", ownOpenai(true)],
  ["this package: `openai()`, not stored", ownOpenai(false)],
];
const MODES = ["whole", "streamed", "restarted"] as const;

const SCRIPT: readonly WireStep[] = [
  { reasoning: "A program adds.", text: "I will add.", calls: [{ program: PROGRAM }] },
  { text: "Now the stock.", calls: [{ tool: "stock", input: { id: 4 } }] },
  { text: "There is plenty." },
];

async function complete(client: Client, mode: (typeof MODES)[number], wire: Wire, stream: boolean): Promise<void> {
  await using served = await serve(wire, SCRIPT);
  const model = served.model({ stream });
  const restarted = restartedGateway(() => served.model({ stream }));
  await using open = mode === "restarted" ? undefined : await openGateway(model);
  const gateway = open ?? restarted;
  const ids: number[] = [];
  const text = await client({
    gateway,
    model: model.name.slice(model.name.indexOf(":") + 1),
    isStreamed: mode === "streamed",
    depot: (id) => (ids.push(id), { n: id * 1000 + 7 }),
    stock: (id) => (ids.push(id), "plenty"),
  });
  expect([served.refusals, gateway.errors]).toEqual([[], []]);
  expect(text).toContain("There is plenty.");
  expect([ids.slice(0, 2).toSorted((a, b) => a - b), ids.slice(2)]).toEqual([
    [1, 2],
    [3, 4],
  ]);
  const [, second, third] = served.asked.map(({ text: body }) => body);
  expect([second, third]).toEqual([expect.stringContaining("6021"), expect.stringContaining("plenty")]);
  expect(served.asked).toHaveLength(SCRIPT.length);
  if (mode === "restarted") expect(restarted.starts()).toBeGreaterThan(3);
}

/** One client of each wire in each way, and on each upstream in one: `make test-all` has all of the matrix. */
const USUAL: ReadonlySet<Client> = new Set([messages, unstored]);
const isUsual = (client: Client, mode: string, upstream: string) =>
  USUAL.has(client) && (upstream === WIRES[0]?.[0] || (client === messages && mode === "whole"));

for (const [upstream, wire] of WIRES)
  for (const [name, client] of CLIENTS)
    for (const mode of MODES)
      (isUsual(client, mode, upstream) ? test : testOfAll)(
        `${name.replaceAll("`", "")}, ${mode}, on ${upstream}`,
        async () => {
          await complete(client, mode, wire, true);
          // Without pieces of its text, the client's stream has the whole at once.
          if (mode === "streamed") await complete(client, mode, wire, false);
        },
      );

test("the matrix of the document has these clients, modes and upstreams", () => {
  const document = readFileSync(new URL("../../../../docs/gateway.md", import.meta.url), "utf8");
  const rows = document
    .split("\n")
    .filter((line) => line.startsWith("|"))
    .map((line) => line.split("|").map((cell) => cell.trim()));
  const heads = rows.filter((cells) => cells[2] === WIRES[0]?.[0]);
  expect(heads.map((cells) => cells.slice(2, -1))).toEqual([WIRES.map(([name]) => name)]);
  for (const [name] of CLIENTS)
    expect(rows.find((cells) => cells[1] === name)?.slice(2, -1), name).toEqual(WIRES.map(() => MODES.join(", ")));
});
