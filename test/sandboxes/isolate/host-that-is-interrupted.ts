/*
 * A host for the pool's test: says so when its program waits for a tool, answers the tool when it is interrupted, and
 * prints how its program ended.
 */
import { createRuntime } from "../../../src/runtime/create-runtime.ts";
import { makeTool } from "../../support/tools.ts";

const interrupted = new Promise<string>((resolve) => process.once("SIGINT", () => resolve("interrupted")));
const wait = makeTool({
  name: "host.wait",
  execute: () => {
    process.stdout.write("waiting\n");
    return interrupted;
  },
});

await using runtime = await createRuntime({ tools: [wait] });
const { outcome, usage } = await runtime.execute("return tools.host.wait({});");
process.stdout.write(`${JSON.stringify({ outcome, restarts: usage.restarts })}\n`);
