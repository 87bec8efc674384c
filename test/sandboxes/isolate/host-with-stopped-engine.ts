/*
 * A host for the janitor's test: starts an engine without the kernel's help, stops it so that it cannot end itself,
 * prints its process id, and waits to be killed.
 */
import { EngineProcess } from "../../../src/sandboxes/isolate/engine-process.ts";
import { watchCommand } from "../../../src/sandboxes/isolate/parent-death.ts";

const engine = new EngineProcess(watchCommand());
await engine.prepare(16 * 1024 * 1024, 20_000);
process.kill(engine.pid ?? 0, "SIGSTOP");
process.stdout.write(`${engine.pid}\n`);
setInterval(() => {}, 1000);
