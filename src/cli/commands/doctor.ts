import { createRequire } from "node:module";
import { styleText } from "node:util";
import { cleanText } from "../../output/clean-text.ts";
import { byteText } from "../../output/sentences.ts";
import { createDockerSandbox } from "../../sandboxes/docker/docker-sandbox.ts";
import { Daemon } from "../../sandboxes/docker/daemon.ts";
import { IMAGE, originOf } from "../../sandboxes/docker/image.ts";
import { makeMountedFolder, removeMountedFolder } from "../../sandboxes/docker/mounted-folder.ts";
import { removeLeftovers } from "../../sandboxes/docker/leftovers.ts";
import { createIsolateSandbox } from "../../sandboxes/isolate/isolate-sandbox.ts";
import { endOrphans } from "../../sandboxes/isolate/janitor.ts";
import { canWatchMemory } from "../../sandboxes/isolate/process-gauges.ts";
import { parentDeathCommand } from "../../sandboxes/isolate/parent-death.ts";
import { createRuntime } from "../../runtime.ts";
import { defaultHeldBytes } from "../../values/held-bytes.ts";
import { EXIT } from "../exit-code.ts";
import { oneLine } from "../terminal/one-line.ts";

interface Finding {
  readonly what: string;
  readonly state: "good" | "weak" | "missing";
  readonly detail: string;
}

/** Major versions of node that isolated-vm 7 brings binaries for. */
const NODE_MAJORS = [24, 26];
/** V8 x.y is Chrome's release xy, and those come every four weeks (chromiumdash.appspot.com/schedule); 13.6 came on this day. */
const V8_ANCHOR = { release: 136, day: Date.UTC(2025, 3, 29) };
const FOUR_WEEKS_MS = 28 * 86_400_000;
const OLD_V8_DAYS = 365;

/** `portcullis doctor`: resolves with the exit code, `environment` where programs cannot run here. */
export async function doctor(options: { readonly json?: boolean; readonly clean?: boolean }): Promise<number> {
  const findings = [
    ...(options.clean ? [await cleanFinding()] : []),
    nodeFinding(),
    addonFinding(),
    v8Finding(),
    memoryFinding(),
    heldBytesFinding(),
    lifelineFinding(),
    await poolFinding(),
    await dockerFinding(),
    ...(await imageFinding()),
    ...(await mountsFinding()),
  ];
  process.stdout.write(
    options.json ? `${cleanText(JSON.stringify(findings))}\n` : `${findings.map(line).join("\n")}\n`,
  );
  return findings.some(({ state }) => state === "missing") ? EXIT.environment : EXIT.completed;
}

function nodeFinding(): Finding {
  const major = Number(process.versions.node.split(".")[0]);
  const good = NODE_MAJORS.includes(major);
  return {
    what: "node",
    state: good ? "good" : major >= 24 ? "weak" : "missing",
    detail: `${process.versions.node}${good ? "" : `; isolated-vm has binaries for ${NODE_MAJORS.join(" and ")}: use one of those`}`,
  };
}

function addonFinding(): Finding {
  try {
    const { version } = createRequire(import.meta.url)("isolated-vm/package.json") as { readonly version: string };
    return { what: "isolated-vm", state: "good", detail: version };
  } catch {
    return {
      what: "isolated-vm",
      state: "missing",
      detail: "not installed: npm install isolated-vm, under node 24 or 26",
    };
  }
}

function v8Finding(): Finding {
  const [major = 0, minor = 0] = process.versions.v8.split(".").map(Number);
  const born = V8_ANCHOR.day + (major * 10 + minor - V8_ANCHOR.release) * FOUR_WEEKS_MS;
  const days = Math.round((Date.now() - born) / 86_400_000);
  return {
    what: "V8",
    state: days <= OLD_V8_DAYS ? "good" : "weak",
    detail: `${process.versions.v8}, of a line begun about ${days} days ago${days <= OLD_V8_DAYS ? "" : "; only node's own security releases mend it: keep node up to date"}`,
  };
}

function memoryFinding(): Finding {
  return canWatchMemory()
    ? { what: "memory watch", state: "good", detail: "of every kind, from /proc" }
    : {
        what: "memory watch",
        state: "weak",
        detail: "not here: only V8's own heap limit holds; memory outside of its heap is not bounded",
      };
}

function heldBytesFinding(): Finding {
  return {
    what: "host's memory",
    state: "good",
    detail: `executions may hold ${byteText(defaultHeldBytes())} at once (heldBytes of createRuntime): a quarter of V8's heap limit, or of the machine's memory where that is less`,
  };
}

function lifelineFinding(): Finding {
  return parentDeathCommand().mode === "kernel"
    ? { what: "end with host", state: "good", detail: "by the kernel (setpriv --pdeathsig)" }
    : { what: "end with host", state: "good", detail: "by a thread of each engine, which costs 11 MB each" };
}

async function poolFinding(): Promise<Finding> {
  const sandbox = createIsolateSandbox();
  try {
    await using runtime = await createRuntime({ tools: [], sandbox });
    await runtime.execute("return 1");
    const since = performance.now();
    const { outcome } = await runtime.execute("return 1");
    if (outcome.type !== "completed")
      return { what: "pool", state: "missing", detail: `a program ended as ${outcome.type}` };
    const { engines, idle } = sandbox.pool.counts;
    return {
      what: "pool",
      state: "good",
      detail: `${engines} engines, ${idle} ready; a program that does nothing took ${(performance.now() - since).toFixed(1)} ms`,
    };
  } catch (error) {
    return { what: "pool", state: "missing", detail: error instanceof Error ? error.message : String(error) };
  } finally {
    await sandbox[Symbol.asyncDispose]();
  }
}

async function cleanFinding(): Promise<Finding> {
  const engines = endOrphans();
  // Where there is no Docker engine there are no containers, and that is told elsewhere.
  const containers = await removeLeftovers(new Daemon()).catch(() => 0);
  return { what: "cleaned", state: "good", detail: `${engines} engines ended, ${containers} containers removed` };
}

/** Containers are a choice: that there are none is no fault of this machine. */
async function dockerFinding(): Promise<Finding> {
  const sandbox = createDockerSandbox();
  try {
    await using runtime = await createRuntime({ tools: [], sandbox });
    const { ServerVersion: version, Runtimes: installed } = await new Daemon().info();
    const runtimes = ["runc", "runsc"].filter((runtime) => Object.hasOwn(installed, runtime));
    const since = performance.now();
    const { outcome } = await runtime.execute("return 1");
    const detail = `engine ${version}, with ${runtimes.join(" and ")}`;
    return outcome.type === "completed"
      ? {
          what: "docker",
          state: "good",
          detail: `${detail}; a program that does nothing took ${(performance.now() - since).toFixed(0)} ms, its container included`,
        }
      : { what: "docker", state: "weak", detail: `${detail}; a program ended as ${outcome.type}` };
  } catch (error) {
    return { what: "docker", state: "weak", detail: error instanceof Error ? error.message : String(error) };
  } finally {
    await sandbox[Symbol.asyncDispose]();
  }
}

/** What the image was built of, where there is one: that its packages are as old as it is shows nowhere else. */
async function imageFinding(): Promise<readonly Finding[]> {
  const origin = await originOf(new Daemon(), IMAGE).catch(() => undefined);
  if (!origin) return [];
  const { base, baseDigest, node, python } = origin;
  const pinned = base.includes("@sha256:");
  const detail = `node ${node} and python ${python} upon ${base}${pinned ? "" : `, which was ${baseDigest}`}`;
  // An id is no name that a registry knows.
  const again =
    !pinned && baseDigest.includes("@") ? `; to have the same again: portcullis image build --base ${baseDigest}` : "";
  return [{ what: "image", state: "good", detail: `${detail}${again}` }];
}

/** Why containers here go without pipes, and without a way out, where they do: their programs run all the same. */
async function mountsFinding(): Promise<readonly Finding[]> {
  if (!(await new Daemon().sharesMachine())) return [];
  try {
    removeMountedFolder(makeMountedFolder());
    return [];
  } catch (error) {
    return [{ what: "mounts", state: "weak", detail: error instanceof Error ? error.message : String(error) }];
  }
}

function line({ what, state, detail }: Finding): string {
  const mark = { good: styleText("green", "✓"), weak: styleText("yellow", "!"), missing: styleText("red", "✗") }[state];
  return `${mark} ${what.padEnd(14)}${oneLine(detail)}`;
}
