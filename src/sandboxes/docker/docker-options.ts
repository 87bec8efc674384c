import {
  array,
  isFields,
  oneOf,
  option,
  type OptionsOf,
  type CheckedOptions,
  text,
  wholeNumber,
  withDefault,
} from "../../base/index.ts";
import { USUAL_ALLOWANCE } from "./container/container-limits.ts";
import type { EgressOptions } from "./egress/egress-plan.ts";
import { IMAGE_NAME } from "./image/image.ts";

export const DOCKER_RULES = {
  /**
   * Containers kept started for the next program, for each of the two most recently used kinds (language and limits);
   * none by default. An idle container takes about 35 MiB on the daemon's machine: 13 to 15 in the container, the rest
   * for its shim process.
   */
  warm: wholeNumber({ min: 0, default: 0 }),
  /** Containers at once, idle ones included; 32 by default. Further programs wait. */
  containers: wholeNumber({ min: 1, default: 32 }),
  /** Programs that may wait at once; 1,000 by default. A further program ends as `stopped`, by `queue`. */
  queue: wholeNumber({ min: 1, default: 1000 }),
  /**
   * Whether a program that waits gives up its container if another program needs a place (`needed`, the default) or
   * keeps it (`never`). It is replayed in another container when it has something to do.
   */
  evict: withDefault(oneOf(["needed", "never"]), "needed"),
  /** Processors that one container may use; 1 by default, and fractions are allowed. */
  cpus: withDefault(
    option<number>("a number above 0", (value) => Number.isFinite(value) && (value as number) > 0),
    USUAL_ALLOWANCE.cpus,
  ),
  /** Temporary files of one container, in bytes; 16 MiB by default. They count against its memory. */
  scratchBytes: wholeNumber({ min: 4096, default: USUAL_ALLOWANCE.scratchBytes }),
  /** Name of the image, as given to `portcullis image build`. */
  image: withDefault(text({ expected: "the name of an image" }), IMAGE_NAME),
  /** The container runtime: `runc`, or gVisor's `runsc` if the daemon has it. */
  runtime: withDefault(oneOf(["runc", "runsc"]), "runc"),
  /**
   * Which hosts programs may reach: `none`, or a list. A list needs a daemon on this machine, and `runc`. A program that
   * has used egress cannot be replayed.
   */
  egress: option<"none" | EgressOptions>(
    '"none", or { hosts } with the hosts that programs may reach',
    (value) => value === "none" || isFields(value),
  ),
  /** How long the daemon may take for one answer, in milliseconds; 60,000 by default. */
  callMs: wholeNumber({ min: 1, max: 2 ** 31 - 1 }),
  /** Replaces the guest's command, so that a test can run any program in a container. */
  command: array<string>("an array of a command and its arguments"),
};

export type DockerSandboxOptions = OptionsOf<typeof DOCKER_RULES>;

export type ContainerPoolOptions = Pick<CheckedOptions<typeof DOCKER_RULES>, "warm" | "containers" | "queue" | "evict">;
