/*
 * A host for the janitor's test: starts an engine that does not end with its host, stops it so that it cannot end itself,
 * prints its process id, and waits to be killed. Without an argument the engine has no help of the kernel; with `unbound`
 * it is started as engines are here, and its end is not bound to that of its launcher.
 */
import { EngineProcess } from "../../../src/sandboxes/isolate/engine-process.ts";
import { engineCommand, watchCommand } from "../../../src/sandboxes/isolate/engine-command.ts";

const { prefix, ...usual } = engineCommand();
// Landlock would let no other program run.
const launched = ["--pdeathsig", "KILL", ...prefix.slice(prefix.indexOf("--"), -1)];
const unbound = [...launched, usual.command, "--pdeathsig", "clear", "--", ...prefix.slice(-1)];
const engine = new EngineProcess(
  process.argv[2] === "unbound" && usual.mode === "kernel" ? { ...usual, prefix: unbound } : watchCommand(),
);
await engine.prepare(16 * 1024 * 1024, 20_000);
process.kill(engine.pid ?? 0, "SIGSTOP");
process.stdout.write(`${engine.pid}\n`);
setInterval(() => {}, 1000);
