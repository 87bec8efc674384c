/*
 * A host for the pool's test: says so when its program waits for a tool, answers the tool when it is interrupted, and
 * prints how its program ended.
 */
import { z } from "zod";
import { createRuntime } from "../../../src/runtime/create-runtime.ts";
import { defineTool } from "../../../src/tools/define-tool.ts";

const interrupted = new Promise<string>((resolve) => process.once("SIGINT", () => resolve("interrupted")));
const wait = defineTool({
  name: "host.wait",
  description: "Waits until the host is interrupted",
  input: z.object({}),
  allowedCallers: ["programmatic"],
  effect: "read",
  handler: () => {
    process.stdout.write("waiting\n");
    return interrupted;
  },
});

await using runtime = await createRuntime({ tools: [wait] });
const { outcome, usage } = await runtime.execute("return tools.host.wait({});");
process.stdout.write(`${JSON.stringify({ outcome, restarts: usage.restarts })}\n`);
