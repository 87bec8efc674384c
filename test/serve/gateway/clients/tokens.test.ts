import { createRuntime, defineTool } from "portcullis";
import { createMemorySandbox } from "portcullis/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { countTokens } from "../../../../src/tools/count-tokens.ts";
import { without } from "../../../../src/base/index.ts";
import { chatWire } from "../../../models/openai/chat/wire.ts";
import { serve, type WireStep } from "../../../models/wire.ts";
import { ALL_TESTS } from "../../../support/all-tests.ts";
import { openGateway } from "../gateways.ts";
import { messages, toolRunner } from "./anthropic-clients.ts";
import { responses } from "./openai-clients.ts";
import { type Client, DEPOT, QUESTION, STOCK } from "./task.ts";

const PROGRAM = `const [a, b] = await Promise.all([tools.depot({ id: 1 }), tools.depot({ id: 2 })]);
const c = await tools.depot({ id: 3 });
return a.n + b.n + c.n;`;
const SCRIPT: readonly WireStep[] = [
  { text: "I will add.", calls: [{ program: PROGRAM }] },
  { text: "Now the stock.", calls: [{ tool: "stock", input: { id: 4 } }] },
  { text: "There is plenty." },
];
const depot = (id: number) => ({ n: id * 1000 + 7 });
const stock = () => "plenty";

/** The requests of this package's own loop, which has the tools itself. */
async function ownRequests() {
  await using served = await serve(chatWire, SCRIPT);
  const inputSchema = z.object({ id: z.number() });
  const common = { inputSchema, effect: "read" } as const;
  const tools = [
    defineTool({
      ...common,
      name: "depot",
      description: DEPOT,
      allowedCallers: ["programmatic"],
      execute: ({ id }) => depot(id),
    }),
    defineTool({ ...common, name: "stock", description: STOCK, allowedCallers: ["direct"], execute: stock }),
  ];
  await using runtime = await createRuntime({ tools, sandbox: createMemorySandbox() });
  await runtime.agent({ model: served.model(), task: QUESTION });
  return served.asked.map(({ body }) => body);
}

/** What a client sets, and what is true of tools with a handler alone: how long a call may take. */
function framed(body: Record<string, unknown>): string {
  return JSON.stringify(without(without(body, "max_tokens"), "reasoning_effort")).replace(
    " calls, each up to 60 s. You",
    " calls. You",
  );
}

const CLIENTS: readonly (readonly [name: string, client: Client])[] = [
  ["@anthropic-ai/sdk: messages", messages],
  ["@anthropic-ai/sdk: toolRunner", toolRunner],
  ["openai: responses, stored", responses(true)],
  ["openai: responses, not stored", responses(false)],
];

/** One client of each wire, and all of them in `make test-all`. */
const TRIED = CLIENTS.filter((_, index) => ALL_TESTS || index % 2 === 0);

test.each(TRIED)("a model behind the gateway gets the tokens that our own loop sends: %s", async (_, client) => {
  const own = await ownRequests();
  await using served = await serve(chatWire, SCRIPT);
  await using gateway = await openGateway(served.model());
  await client({ gateway, model: "gpt-test", isStreamed: false, depot, stock });
  const through = served.asked.map(({ body }) => body);
  expect(through.map(framed)).toEqual(own.map(framed));
  const sum = (bodies: typeof own) => bodies.reduce((all, body) => all + countTokens(framed(body)), 0);
  process.stdout.write(`${sum(through)} tokens through the gateway, ${sum(own)} in our own loop\n`);
});
