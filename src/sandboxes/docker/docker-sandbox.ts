import type { Language } from "../../../bridge/frames.ts";
import { optionError, PortcullisError, refuseUnknownOptions } from "../../errors.ts";
import type { Guest, OpenOptions, Sandbox, SandboxLimits } from "../sandbox.ts";
import { type ContainerAllowance, containerLimits, USUAL_ALLOWANCE } from "./container-limits.ts";
import { type ContainerPlan, GUEST_COMMANDS } from "./container-options.ts";
import { ContainerPool } from "./container-pool.ts";
import { Daemon } from "./daemon.ts";
import { diagnoseContainers } from "./diagnose.ts";
import { type EgressOptions, planEgress, USUAL_WAY } from "./egress/egress-plan.ts";
import { checkImage, IMAGE } from "./image.ts";
import { hostLabels, removeLeftovers } from "./leftovers.ts";
import type { PoolCounts, PoolOptions } from "./pool-options.ts";

export interface DockerSandboxOptions extends Partial<PoolOptions>, Partial<ContainerAllowance> {
  /** Image that `portcullis image build` has built. */
  readonly image?: string;
  /** Who runs the containers: `runc`, or gVisor's `runsc` where the daemon has it. */
  readonly runtime?: "runc" | "runsc";
  /**
   * Which hosts programs may reach: `none`, or a list. It takes a daemon on this machine, and `runc`. A program that
   * has used it cannot be replayed.
   */
  readonly egress?: "none" | EgressOptions;
  /** How long the daemon may take for one answer, in milliseconds. */
  readonly callMs?: number;
  /** Stands in for the guest's command, so that a test can run anything in a container. */
  readonly command?: readonly string[];
}

/** What containers are warmed for before the first program has said what it needs. */
const USUAL_LIMITS: SandboxLimits = { memoryBytes: 128 * 1024 * 1024, frameBytes: 4 * 1024 * 1024 };
const LANGUAGES: readonly Language[] = ["javascript", "python"];
const RUNTIMES = ["runc", "runsc"];
const OPTIONS = [
  "warm",
  "containers",
  "queue",
  "cpus",
  "scratchBytes",
  "image",
  "runtime",
  "egress",
  "callMs",
  "command",
];

export interface DockerSandbox extends Sandbox {
  readonly pool: { readonly counts: PoolCounts };
}

/** A sandbox of containers: one program in each, without network, on a read-only file system, removed afterwards. */
export function createDockerSandbox(options: DockerSandboxOptions = {}): DockerSandbox {
  return createDockerSandboxWith(USUAL_WAY, options);
}

/** The same, with names and addresses as a test says: the usual way refuses every server on this machine. */
export function createDockerSandboxWith(way: typeof USUAL_WAY, options: DockerSandboxOptions): DockerSandbox {
  refuseUnknownOptions("createDockerSandbox", options, OPTIONS);
  const { warm = 0, containers = 32, queue = 1000, image = IMAGE, runtime = "runc" } = options;
  for (const [name, value, least] of [
    ["warm", warm, 0],
    ["containers", containers, 1],
    ["queue", queue, 1],
  ] as const)
    if (!(Number.isSafeInteger(value) && value >= least))
      throw optionError(name, `a whole number of at least ${least}`, value);
  const allowance = {
    cpus: options.cpus ?? USUAL_ALLOWANCE.cpus,
    scratchBytes: options.scratchBytes ?? USUAL_ALLOWANCE.scratchBytes,
  };
  if (!RUNTIMES.includes(runtime)) throw optionError("runtime", RUNTIMES.join(" or "), runtime);
  const egress = planEgress(options.egress, way);
  // gVisor lets no container connect to a socket of the host's.
  if (egress && runtime !== "runc") throw optionError("egress", `"none" with the runtime ${runtime}`, options.egress);
  const daemon = new Daemon(options.callMs);
  const pool = new ContainerPool(daemon, { warm, containers, queue });
  const labels = hostLabels();
  let checked: Promise<void> | undefined;

  function planFor(language: Language, limits: SandboxLimits): ContainerPlan {
    // The realm of programs in JavaScript has nothing to use a way out with. Only who has broken out of it would.
    const usedEgress = language === "javascript" && options.command === undefined ? undefined : egress;
    const mapped = containerLimits(limits, language, allowance, usedEgress !== undefined);
    const command = options.command ?? GUEST_COMMANDS[language](mapped);
    return { image, runtime, labels, language, limits: mapped, command, egress: usedEgress };
  }

  /** Once: whether there is a daemon, the right image, and a way out if one is wanted. What earlier hosts have left is removed. */
  function check(): Promise<void> {
    checked ??= (async () => {
      await checkImage(daemon, image);
      if (egress && !(await daemon.sharesMachine()))
        throw new PortcullisError(
          "sandbox_unavailable",
          `The Docker daemon at ${daemon.address} is not on this machine, and egress takes a socket of this machine: use a daemon here, or egress "none".`,
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
    pool,
    async warm() {
      await check();
      await pool.warm(planFor("javascript", USUAL_LIMITS)).catch((error: unknown) => {
        throw daemon.unavailable(error);
      });
    },
    async open({ language, limits, tenant, onConnection }: OpenOptions, signal: AbortSignal): Promise<Guest> {
      signal.throwIfAborted();
      if (!LANGUAGES.includes(language))
        throw new PortcullisError(
          "sandbox_unavailable",
          `The docker sandbox runs ${LANGUAGES.join(" and ")}, not ${language}.`,
        );
      await check();
      try {
        const guest = await pool.acquire(planFor(language, limits), tenant, signal);
        guest.handOver(limits.frameBytes);
        if (onConnection) guest.tellConnections(onConnection);
        return guest;
      } catch (error) {
        signal.throwIfAborted();
        throw daemon.unavailable(error);
      }
    },
    diagnose() {
      return diagnoseContainers(daemon, image);
    },
    async clean() {
      // Without a daemon there are no containers to remove, which `diagnose` tells.
      return `${await removeLeftovers(daemon).catch(() => 0)} containers removed`;
    },
    async [Symbol.asyncDispose]() {
      await pool.close();
    },
  };
}
