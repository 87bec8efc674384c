import { writeStdout } from "../terminal/standard-streams.ts";
import { styleText } from "node:util";
import { cleanText } from "../../output/clean-text.ts";
import { byteText } from "../../output/sentences.ts";
import { createDockerSandbox } from "../../sandboxes/docker/docker-sandbox.ts";
import { createIsolateSandbox } from "../../sandboxes/isolate/isolate-sandbox.ts";
import type { Finding, Sandbox } from "../../sandboxes/sandbox.ts";
import { createRuntime } from "../../runtime.ts";
import { defaultHeldBytes } from "../../values/held-bytes.ts";
import { EXIT } from "../exit-code.ts";
import { oneLine } from "../terminal/one-line.ts";

/** `portcullis doctor`: checks this machine. Resolves with the exit code, `environment` where programs cannot run here. */
export async function doctor(options: { readonly json?: boolean; readonly clean?: boolean }): Promise<number> {
  await using isolate = createIsolateSandbox();
  await using docker = createDockerSandbox();
  const findings = [
    ...(options.clean ? [await cleanFinding([isolate, docker])] : []),
    heldBytesFinding(),
    ...(await findingsOf(isolate)),
    // Containers are optional, so a finding about them is a warning at most.
    ...(await findingsOf(docker)).map((finding): Finding =>
      finding.state === "missing" ? { ...finding, state: "weak" } : finding,
    ),
  ];
  writeStdout(options.json ? `${cleanText(JSON.stringify(findings))}\n` : `${findings.map(line).join("\n")}\n`);
  return findings.some(({ state }) => state === "missing") ? EXIT.environment : EXIT.completed;
}

/** The sandbox's own findings and, unless they say that no program can run, the result of running one. */
async function findingsOf(sandbox: Sandbox): Promise<readonly Finding[]> {
  const findings = (await sandbox.diagnose?.()) ?? [];
  const named = findings.find(({ what }) => what === sandbox.name);
  return named !== undefined && named.state !== "good" ? findings : [...findings, await programFinding(sandbox)];
}

async function cleanFinding(sandboxes: readonly Sandbox[]): Promise<Finding> {
  const cleaned = await Promise.all(sandboxes.map(async (sandbox) => sandbox.clean?.()));
  return { what: "cleaned", state: "good", detail: cleaned.filter((text) => text !== undefined).join(", ") };
}

function heldBytesFinding(): Finding {
  return {
    what: "host's memory",
    state: "good",
    detail: `executions may hold ${byteText(defaultHeldBytes())} at once (heldBytes of createRuntime): a quarter of V8's heap limit, or of the machine's memory where that is less`,
  };
}

/** Runs a program twice and measures the second run: its engine is warm then. A container is always new. */
async function programFinding(sandbox: Sandbox): Promise<Finding> {
  const what = `${sandbox.name} run`;
  try {
    await using runtime = await createRuntime({ tools: [], sandbox });
    await runtime.execute("return 1");
    const since = performance.now();
    const { outcome } = await runtime.execute("return 1");
    const ms = (performance.now() - since).toFixed(1);
    return outcome.type === "completed"
      ? { what, state: "good", detail: `a program that does nothing took ${ms} ms` }
      : { what, state: "missing", detail: `a program ended as ${outcome.type}` };
  } catch (error) {
    return { what, state: "missing", detail: error instanceof Error ? error.message : String(error) };
  }
}

function line({ what, state, detail }: Finding): string {
  const mark = { good: styleText("green", "✓"), weak: styleText("yellow", "!"), missing: styleText("red", "✗") }[state];
  return `${mark} ${what.padEnd(14)}${oneLine(detail)}`;
}
