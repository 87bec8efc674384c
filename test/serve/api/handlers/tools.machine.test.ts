import { createRuntime, defineTool } from "portcullis";
import { createServer } from "portcullis/serve";
import { createMemorySandbox } from "portcullis/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { ask } from "../../servers.ts";
import { turnsOf } from "../../turns.ts";

const TOKEN = "a-token-of-this-test";
const TOOLS = 5000;
/** Of the processor time of all turns together, what the longest one may take. */
const MOST_SHARE = 0.5;

test("a page of a thousand tools is made in slices, between which other requests are served", async () => {
  const tools = Array.from({ length: TOOLS }, (_, n) =>
    defineTool({
      name: `many.t${n}`,
      description: "d",
      inputSchema: z.object({ id: z.string(), more: z.array(z.object({ n: z.number() })) }),
      allowedCallers: ["programmatic"],
      effect: "read",
      execute: () => 1,
    }),
  );
  await using runtime = await createRuntime({ tools, sandbox: createMemorySandbox() });
  const server = await createServer(runtime, { token: TOKEN });
  const get = (path: string) => ask(server, "GET", path, { key: TOKEN });
  // What is told of all tools together is made once.
  await get("/v1/tools?limit=1");
  const { whole, longest } = await turnsOf(async () => {
    expect((await get("/v1/tools?limit=1000")).json.tools).toHaveLength(1000);
  });
  process.stdout.write(`longest turn: ${longest.toFixed(0)} of ${whole.toFixed(0)} ms\n`);
  expect(longest / whole).toBeLessThan(MOST_SHARE);
  await server.close();
});
