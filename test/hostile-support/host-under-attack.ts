/*
 * A host whose engines are all busy with attacks that no limit ends soon, to be killed by the test that started it. Its
 * argument is how engines are to learn of that: "kernel" or "watch".
 */
import { readFileSync } from "node:fs";
import { createRuntime } from "../../src/index.ts";
import { createIsolateSandbox } from "../../src/sandboxes/index.ts";
import { engineCommand, watchCommand } from "../../src/sandboxes/isolate/engine-command.ts";
import { HOSTILE_TOOLS } from "./tools.ts";

const command = process.argv[2] === "watch" ? watchCommand() : engineCommand();
if (command.mode !== process.argv[2])
  throw new Error(`engines cannot be made to die by way of ${process.argv[2]} here`);

const runtime = await createRuntime({
  tools: HOSTILE_TOOLS,
  sandbox: createIsolateSandbox({ command }),
  limits: { memoryBytes: 512 * 1024 * 1024, cpuMs: 60_000, wallMs: 60_000 },
});
const attacks = ["cpu-loop", "cpu-reverse", "memory-garbage"];
await Promise.all(
  attacks.map((name) =>
    runtime.execute(readFileSync(new URL(`../hostile/${name}.js`, import.meta.url), "utf8"), { tenant: name }),
  ),
);
