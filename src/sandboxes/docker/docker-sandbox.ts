import type { Language } from "../../../bridge/frames.ts";
import { fieldOf, optionError, PortcullisError, readOptions, textOf } from "../../base/index.ts";
import {
  checkLanguage,
  type Finding,
  type Guest,
  type OpenOptions,
  type Sandbox,
  type SandboxLimits,
} from "../sandbox.ts";
import { containerLimits } from "./container/container-limits.ts";
import { type ContainerPlan, GUEST_COMMANDS } from "./container-options.ts";
import { ContainerPool } from "./container-pool.ts";
import { Daemon } from "./daemon.ts";
import { DOCKER_RULES, type DockerSandboxOptions } from "./docker-options.ts";
import { planEgress, USUAL_WAY } from "./egress/egress-plan.ts";
import { checkImage } from "./image/image.ts";
import { hostLabels, removeLeftovers } from "./leftovers.ts";

/** Limits of containers that are started before the first program's limits are known. */
const USUAL_LIMITS: SandboxLimits = { memoryBytes: 128 * 1024 * 1024, frameBytes: 4 * 1024 * 1024 };
const SUBJECT = "createDockerSandbox";
const LANGUAGES = ["javascript", "python"] as const;

/** A sandbox of containers: each runs one program on a read-only file system without a network, and is then removed. */
export function createDockerSandbox(options: DockerSandboxOptions = {}): Sandbox {
  return createDockerSandboxWith(USUAL_WAY, options);
}

/** A Docker sandbox with a test's own look-up and address check: the usual ones refuse every server on this machine. */
export function createDockerSandboxWith(way: typeof USUAL_WAY, options: DockerSandboxOptions): Sandbox {
  const read = readOptions(SUBJECT, options, DOCKER_RULES);
  const { image, runtime } = read;
  const egress = planEgress(read.egress, way);
  // In gVisor a container cannot connect to a socket of its host.
  if (egress && runtime !== "runc")
    throw optionError(`${SUBJECT}({ egress })`, `"none" with the runtime ${runtime}`, read.egress);
  const daemon = new Daemon(read.callMs);
  const pool = new ContainerPool(daemon, read);
  const labels = hostLabels();
  let checked: Promise<void> | undefined;

  function planFor(language: Language, limits: SandboxLimits): ContainerPlan {
    // A program in JavaScript has no network client, so only one that escaped its realm could use egress.
    const usedEgress = language === "javascript" && read.command === undefined ? undefined : egress;
    const mapped = containerLimits(limits, language, read, usedEgress !== undefined);
    const command = read.command ?? GUEST_COMMANDS[language](mapped);
    return { image, runtime, labels, language, limits: mapped, command, egress: usedEgress };
  }

  /** Checks the daemon, the image and, if configured, egress; removes leftovers of ended hosts. Runs until it succeeds once. */
  function check(): Promise<void> {
    checked ??= (async () => {
      await checkImage(daemon, image);
      if (egress && !(await daemon.sharesMachine()))
        throw new PortcullisError(
          "sandbox_unavailable",
          `The Docker daemon at ${daemon.address} is not on this machine, and egress needs a socket on this machine: use a local daemon, or egress "none".`,
        );
      await removeLeftovers(daemon);
    })().catch((error: unknown) => {
      checked = undefined;
      throw daemon.unavailable(error);
    });
    return checked;
  }

  return {
    name: "docker",
    languages: LANGUAGES,
    get load() {
      const { containers: guests, idle, waiting } = pool.counts;
      return { pool, guests, idle, waiting };
    },
    async warm() {
      await check();
      await pool.warm(planFor("javascript", USUAL_LIMITS)).catch((error: unknown) => {
        throw daemon.unavailable(error);
      });
    },
    async open(options: OpenOptions, signal: AbortSignal): Promise<Guest> {
      const { language, limits, onConnection } = options;
      signal.throwIfAborted();
      checkLanguage("docker", LANGUAGES, language);
      await check();
      try {
        const guest = await pool.acquire(planFor(language, limits), options, signal);
        guest.handOver(limits.frameBytes, onConnection);
        return guest;
      } catch (error) {
        signal.throwIfAborted();
        throw daemon.unavailable(error);
      }
    },
    /** None of what is checked is needed if no program runs in a container. */
    diagnose: async () => [await daemonFinding(daemon)],
    [Symbol.asyncDispose]: () => pool.close(),
  };
}

async function daemonFinding(daemon: Daemon): Promise<Finding> {
  try {
    const info = await daemon.info();
    const version = textOf(info, "ServerVersion");
    if (version === undefined)
      return { what: "docker", state: "weak", detail: `The server at ${daemon.address} is not a Docker daemon.` };
    const runtimes = ["runc", "runsc"].filter((runtime) => fieldOf(fieldOf(info, "Runtimes"), runtime) !== undefined);
    return { what: "docker", state: "good", detail: `daemon ${version}, with ${runtimes.join(" and ")}` };
  } catch (error) {
    return { what: "docker", state: "weak", detail: daemon.unavailable(error).message };
  }
}
