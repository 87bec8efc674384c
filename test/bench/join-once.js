/* The join, once, in a fresh process: for whoever watches the memory of it and of what it starts. */
import { open } from "./peers/drivers/portcullis.js";
import { programs, tools } from "./workloads.js";

const runtime = await open({ tools, timeoutMs: 60_000, memoryMb: 128 });
process.send("ready");
await new Promise((resolve) => {
  process.once("message", resolve);
});
await runtime.execute(programs.join(runtime.tool));
await runtime.close();
process.disconnect();
