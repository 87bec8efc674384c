import { byteText, defaultHeldBytes, monotonic, thrownMessage } from "../../base/index.ts";
import { printJson, writeStdout, writeStyled, oneLine } from "../terminal/standard-streams.ts";
import { findCompiler } from "../../executions/check/compiler.ts";
import { createDockerSandbox } from "../../sandboxes/docker/index.ts";
import { createIsolateSandbox } from "../../sandboxes/isolate/isolate-sandbox.ts";
import type { Finding, Sandbox } from "../../sandboxes/sandbox.ts";
import { createRuntime } from "../../runtime/create-runtime.ts";
import type { CommandOptions, DOCTOR } from "../command-options.ts";
import { EXIT } from "../failure.ts";
import { databaseJournal } from "../input/open-journal.ts";

/** `portcullis doctor`: checks this machine. Resolves with the exit code, `environment` if programs cannot run here. */
export async function doctor(options: CommandOptions<typeof DOCTOR>): Promise<number> {
  await using isolate = createIsolateSandbox();
  await using docker = createDockerSandbox();
  const [ofIsolate, ofDocker] = await Array.fromAsync([isolate, docker], findingsOf);
  const findings = [
    {
      what: "host's memory",
      state: "good",
      detail: `executions may hold ${byteText(defaultHeldBytes())} at once (heldBytes of createRuntime): a quarter of V8's heap limit, or of the machine's memory if that is less`,
    } satisfies Finding,
    checkFinding(),
    ...(await journalFindings(options.journal)),
    ...ofIsolate!,
    // Containers are optional, so a finding about them is a warning at most.
    ...ofDocker!.map((finding): Finding => (finding.state === "missing" ? { ...finding, state: "weak" } : finding)),
  ];
  if (options.json) printJson(findings);
  else for (const finding of findings) writeFinding(finding);
  return findings.some(({ state }) => state === "missing") ? EXIT.environment : EXIT.completed;
}

/** The sandbox's own findings, and the result of running a program unless they say that no program can run. */
async function findingsOf(sandbox: Sandbox): Promise<readonly Finding[]> {
  const findings = (await sandbox.diagnose?.()) ?? [];
  const named = findings.find(({ what }) => what === sandbox.name);
  return named !== undefined && named.state !== "good" ? findings : [...findings, await programFinding(sandbox)];
}

/** A journal in a database; a file is opened by the commands that read it. */
async function journalFindings(named: string | undefined): Promise<readonly Finding[]> {
  await using journal = databaseJournal(named);
  return (await journal?.diagnose()) ?? [];
}

function checkFinding(): Finding {
  const compiler = findCompiler();
  const detail =
    compiler.path === undefined
      ? `programs of models are not checked before they run: ${compiler.why}`
      : `programs of models are checked before their first call, by typescript ${compiler.version}`;
  return { what: "program check", state: compiler.path === undefined ? "weak" : "good", detail };
}

/** Runs a program twice and measures the second run: its engine is warm then. A container is always new. */
async function programFinding(sandbox: Sandbox): Promise<Finding> {
  const what = `${sandbox.name} run`;
  try {
    await using runtime = await createRuntime({ tools: [], sandbox });
    await runtime.execute("return 1");
    const since = monotonic();
    const { outcome } = await runtime.execute("return 1");
    const ms = (monotonic() - since).toFixed(1);
    return outcome.type === "completed"
      ? { what, state: "good", detail: `a program that does nothing took ${ms} ms` }
      : { what, state: "missing", detail: `a program ended as ${outcome.type}` };
  } catch (error) {
    return { what, state: "missing", detail: thrownMessage(error) };
  }
}

function writeFinding({ what, state, detail }: Finding): void {
  if (state === "good") writeStyled("green", "✓");
  else if (state === "weak") writeStyled("yellow", "!");
  else writeStyled("red", "✗");
  writeStdout(` ${what.padEnd(14)}${oneLine(detail)}\n`);
}
