/*
 * A host on which no engine can be started when a program comes: `descriptors` opens all files that it may have open,
 * but the number in the second argument; `throws` names a command that node refuses to start; `setpriv` and
 * `unshare` change nothing, and are for a host whose PATH has another one. Prints what came of the program, then of another one once the cause has gone.
 */
import { closeSync, openSync } from "node:fs";
import { createRuntime } from "../../../src/runtime/create-runtime.ts";
import { createIsolateSandbox } from "../../../src/sandboxes/isolate/isolate-sandbox.ts";

const [cause, left] = process.argv.slice(2);

const opened: number[] = [];
function openAll(): void {
  try {
    for (;;) opened.push(openSync("/dev/null", "r"));
  } catch {
    for (const descriptor of opened.splice(0, Number(left))) closeSync(descriptor);
  }
}

async function tell(program: string): Promise<void> {
  try {
    const { outcome } = await runtime.execute(program);
    process.stdout.write(`${outcome.type}\n`);
  } catch (error) {
    process.stdout.write(`${(error as { readonly code?: string }).code}\n`);
  }
}

const command = cause === "throws" ? { command: "no\0file", prefix: [], mode: "watch" as const } : undefined;
await using sandbox = createIsolateSandbox({ warm: 0, engines: 4, ...(command ? { command } : {}) });
await using runtime = await createRuntime({ tools: [], sandbox });
if (cause === "descriptors") openAll();
await tell("return 1");
for (const descriptor of opened) closeSync(descriptor);
await tell("return 2");
