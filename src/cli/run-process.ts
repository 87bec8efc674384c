import { flushTelemetry } from "../gate/telemetry/index.ts";
import { EXIT, CommandFailure, listenToProcess } from "./failure.ts";
import { main, printFailure } from "./main.ts";
import { flush, listenToStreams } from "./terminal/standard-streams.ts";

/** How long the exporters of telemetry may take for what is left, in milliseconds. */
const TELEMETRY_MS = 2000;

/** An address that may have a password in it. */
const DATABASE = /^(?:--journal=)?postgres(?:ql)?:/;

/** Runs the command of this process's arguments, and ends the process with its exit code. */
export function runProcess(): void {
  // Other users of this machine see the arguments of a process.
  if (process.argv.some((arg) => DATABASE.test(arg))) process.title = "portcullis";
  listenToStreams();
  listenToProcess();
  // Not awaited: node would exit with its own code if the promise never settled.
  void main(process.argv.slice(2), process).then(finish);
}

/** Exits once all output is written, even while tools still hold timers, connections or running handlers. */
async function finish(code: number): Promise<never> {
  await flushTelemetry(TELEMETRY_MS);
  const lost = await flush();
  if (lost === undefined) process.exit(code);
  const exitCode = printFailure(new CommandFailure(EXIT.environment, lost));
  await flush();
  process.exit(exitCode);
}
