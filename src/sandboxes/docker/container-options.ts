import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { ContainerCreateOptions, HostConfig } from "dockerode";
import type { Language } from "../../../bridge/frames.ts";
import type { ContainerLimits } from "./container-limits.ts";

export interface ContainerPlan {
  readonly image: string;
  readonly runtime: "runc" | "runsc";
  readonly command: readonly string[];
  readonly limits: ContainerLimits;
  readonly labels: Readonly<Record<string, string>>;
}

/** The user that programs are, in the image and outside of it: nobody anywhere else. */
const USER = 65532;

/** Where a container finds the pipes to its host, if it has any. */
const BRIDGE = "/bridge";

/**
 * The bridge is on descriptors 3 and 4: the pipes, or, where there are none that can be used, the standard streams. So
 * whatever is printed by chance cannot mix with it: standard output goes where standard error goes, to the operator.
 */
const LAUNCHER = [
  "/bin/sh",
  "-c",
  `if [ -w ${BRIDGE}/out ]; then exec 3<${BRIDGE}/in 4>${BRIDGE}/out; else exec 3<&0 4>&1; fi; exec "$@" </dev/null 1>&2`,
  "guest",
];

/** What runs a program of each language in the image; see `sandbox-image/`. */
export const GUEST_COMMANDS: Record<Language, (limits: ContainerLimits) => readonly string[]> = {
  javascript: ({ heapBytes }) => [
    "/usr/local/bin/node",
    "--permission",
    "--allow-addons",
    "--allow-fs-read=/opt/portcullis/",
    "--no-node-snapshot",
    "--no-warnings",
    "/opt/portcullis/run-javascript.js",
    String(heapBytes),
  ],
  python: () => ["/usr/bin/python3", "-s", "-P", "-B", "/opt/portcullis/guest.py", "--in", "3", "--out", "4"],
};

const ENVIRONMENT = {
  PATH: "/usr/local/bin:/usr/bin:/bin",
  HOME: "/tmp",
  TZ: "UTC",
  LC_ALL: "C.UTF-8",
  LANG: "C.UTF-8",
  // A set of strings is walked in the same order every time.
  PYTHONHASHSEED: "0",
};

/** What of the machine a program would see through the kernel's files: the engine's own list, and more of the same. */
const MASKED_PATHS = [
  ..."acpi asound bus cmdline config.gz consoles cpuinfo diskstats fs interrupts iomem ioports irq kallsyms kcore".split(
    " ",
  ),
  ..."key-users keys latency_stats loadavg locks modules partitions pressure sched_debug scsi schedstat slabinfo".split(
    " ",
  ),
  ..."softirqs swaps sysrq-trigger sysvipc timer_list timer_stats tty uptime version vmallocinfo zoneinfo".split(" "),
].map((name) => `/proc/${name}`);
const MASKED_ELSEWHERE = ["/sys", "/etc/resolv.conf", "/etc/hosts"];
const READ_ONLY_PATHS = ["/proc/sys"];

let seccomp: string | undefined;

function seccompProfile(): string {
  seccomp ??= JSON.stringify(
    JSON.parse(readFileSync(fileURLToPath(import.meta.resolve(`#sandbox-image/seccomp.json`)), "utf8")),
  );
  return seccomp;
}

/** Everything that a container is told at its creation; nothing is added later. `pipes` is the folder of its bridge. */
export function containerOptions(plan: ContainerPlan, pipes?: string): ContainerCreateOptions {
  const { image, command, labels } = plan;
  return {
    Image: image,
    Cmd: [...LAUNCHER, ...command],
    Env: Object.entries(ENVIRONMENT).map(([name, value]) => `${name}=${value}`),
    User: `${USER}:${USER}`,
    WorkingDir: "/tmp",
    Hostname: "sandbox",
    Labels: { ...labels },
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    OpenStdin: true,
    // When its host is gone, its standard input ends, and with that an idle guest.
    StdinOnce: true,
    Tty: false,
    NetworkDisabled: true,
    HostConfig: hostConfig(plan, pipes),
  };
}

/** The client's types do not know `CgroupnsMode` yet. */
function hostConfig(
  { runtime, limits }: ContainerPlan,
  pipes: string | undefined,
): HostConfig & { readonly CgroupnsMode: "private" } {
  return {
    Runtime: runtime,
    NetworkMode: "none",
    IpcMode: "none",
    CgroupnsMode: "private",
    ReadonlyRootfs: true,
    Tmpfs: {
      "/tmp": `rw,noexec,nosuid,nodev,size=${limits.scratchBytes},nr_inodes=${limits.scratchFiles},uid=${USER},gid=${USER},mode=0700`,
    },
    // The one thing of the host's that is seen inside.
    Mounts: pipes === undefined ? [] : [{ Type: "bind", Source: pipes, Target: BRIDGE, ReadOnly: true }],
    CapDrop: ["ALL"],
    SecurityOpt: ["no-new-privileges", `seccomp=${seccompProfile()}`],
    MaskedPaths: [...MASKED_PATHS, ...MASKED_ELSEWHERE],
    ReadonlyPaths: READ_ONLY_PATHS,
    Memory: limits.memoryBytes,
    MemorySwap: limits.memoryBytes,
    NanoCpus: Math.round(limits.cpus * 1e9),
    PidsLimit: limits.processes,
    Ulimits: [
      { Name: "nofile", Soft: limits.openFiles, Hard: limits.openFiles },
      { Name: "core", Soft: 0, Hard: 0 },
    ],
    // With the engine's usual log, a program that prints fills the host's disk.
    LogConfig: { Type: "none", Config: {} },
    Init: true,
    RestartPolicy: { Name: "no" },
  };
}
