import { EGRESS_SOCKET } from "./egress/egress-door.ts";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { ContainerCreateOptions, HostConfig, MountSettings } from "dockerode";
import type { Language } from "../../../bridge/frames.ts";
import type { ContainerLimits } from "./container-limits.ts";
import type { EgressPlan } from "./egress/egress-plan.ts";

export interface ContainerPlan {
  readonly image: string;
  readonly runtime: "runc" | "runsc";
  readonly command: readonly string[];
  readonly language: Language;
  readonly limits: ContainerLimits;
  readonly labels: Readonly<Record<string, string>>;
  /** The way out, where there is one. */
  readonly egress?: EgressPlan | undefined;
}

/** Folders of this machine that a container gets to see. */
export interface ContainerMounts {
  /** With the pipes of its bridge. */
  readonly pipes?: string | undefined;
  /** With the socket of its way out. */
  readonly egress?: string | undefined;
}

/** User id of programs, in the image and on the host. No other process has it. */
const USER = 65532;

/** Where a container finds the pipes to its host, if it has any. */
const BRIDGE = "/bridge";
/** Where it finds the socket of its way out, if it has one, and under which name there. */
const EGRESS = "/egress";
/** Of the forwarder, on the container's own loopback. */
const EGRESS_PORT = 3128;

/** Ends whatever runs here, a busy guest too, but the first process, which ends by itself then. */
const END_ALL = "kill -s KILL -- -1";

/**
 * The bridge is on descriptors 3 and 4: the pipes, or, where there are none that can be used, the standard streams. So
 * whatever is printed by chance cannot mix with it: standard output goes where standard error goes, to the operator.
 *
 * The container's standard input ends with its host. A process of its own waits for that, for a busy guest does not:
 * with pipes it reads an empty stream, without them it forwards what it reads. It is a child of the container's first
 * process, so that no program waits for it. A program may end it, and then runs on after its host's end.
 */
const BRIDGED = `if [ -w ${BRIDGE}/out ]
then
  exec 5<&0
  ( { while read -r _; do :; done; ${END_ALL}; } <&5 5<&- >/dev/null 2>&1 & )
  exec 5<&- 3<${BRIDGE}/in 4>${BRIDGE}/out </dev/null 1>&2
  exec "$@"
fi
exec /bin/bash -c 'exec 4>&1 5<&0
  exec 3< <({ cat || cat >/dev/null; ${END_ALL}; } <&5 4>&- 5<&- 2>/dev/null &)
  wait $!
  exec 5<&- </dev/null 1>&2
  exec "$@"' guest "$@"`;

/** In gVisor, which has no pipes, no process waits: each process there takes threads outside, where they are counted and few. */
const BRIDGED_IN_GVISOR = `exec 3<&0 4>&1; exec "$@" </dev/null 1>&2`;

/**
 * Goes on once the forwarder listens, which says so on a descriptor and closes it, or has ended. It shares no output with
 * the guest: node makes what it has non-blocking, and a guest's print would fail where it should wait.
 */
const FORWARDED = `[ "$(/usr/local/bin/node --v8-pool-size=0 --max-old-space-size=32 --no-warnings /opt/portcullis/egress-forwarder.js ${EGRESS_PORT} ${EGRESS}/${EGRESS_SOCKET} 3>&1 </dev/null >/dev/null 2>&1 &)" = ready ] || exit 1`;

function launcher({ runtime, egress }: ContainerPlan): readonly string[] {
  const bridged = runtime === "runsc" ? BRIDGED_IN_GVISOR : BRIDGED;
  return ["/bin/sh", "-c", egress ? `${FORWARDED}; ${bridged}` : bridged, "guest"];
}

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

/** How the usual clients learn of the way out. What a program serves on its own loopback it reaches directly. */
const PROXY = `http://127.0.0.1:${EGRESS_PORT}`;
const DIRECTLY = "localhost,127.0.0.1";
const EGRESS_ENVIRONMENT = {
  HTTP_PROXY: PROXY,
  HTTPS_PROXY: PROXY,
  http_proxy: PROXY,
  https_proxy: PROXY,
  NO_PROXY: DIRECTLY,
  no_proxy: DIRECTLY,
  // For node's fetch and its http module.
  NODE_USE_ENV_PROXY: "1",
};

/** What of the machine a program would see through the kernel's files: the daemon's own list, and more of the same. */
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

interface SeccompProfile {
  readonly syscalls: readonly unknown[];
}

const profiles = new Map<boolean, string>();

/** The system calls that may be made; for the way out also those that reach it. */
function seccompProfile(egress: boolean): string {
  const known = profiles.get(egress);
  if (known !== undefined) return known;
  const profile = readProfile("seccomp.json") as SeccompProfile;
  const more = egress ? (readProfile("seccomp-egress.json") as SeccompProfile).syscalls : [];
  const text = JSON.stringify({ ...profile, syscalls: [...profile.syscalls, ...more] });
  profiles.set(egress, text);
  return text;
}

function readProfile(name: string): unknown {
  return JSON.parse(readFileSync(fileURLToPath(import.meta.resolve(`#sandbox-image/${name}`)), "utf8"));
}

/** Everything that a container is told at its creation; nothing is added later. */
export function containerOptions(plan: ContainerPlan, mounts: ContainerMounts = {}): ContainerCreateOptions {
  const { image, command, labels, egress } = plan;
  const environment = egress === undefined ? ENVIRONMENT : { ...ENVIRONMENT, ...EGRESS_ENVIRONMENT };
  return {
    Image: image,
    Cmd: [...launcher(plan), ...command],
    Env: Object.entries(environment).map(([name, value]) => `${name}=${value}`),
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
    HostConfig: hostConfig(plan, mounts),
  };
}

/** The client's types do not know `CgroupnsMode` yet. */
function hostConfig(
  { runtime, limits, egress }: ContainerPlan,
  mounts: ContainerMounts,
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
    // The only things of the host's that are seen inside.
    Mounts: [...bind(mounts.pipes, BRIDGE), ...bind(mounts.egress, EGRESS)],
    CapDrop: ["ALL"],
    SecurityOpt: ["no-new-privileges", `seccomp=${seccompProfile(egress !== undefined)}`],
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
    // With the daemon's usual log, a program that prints fills the host's disk.
    LogConfig: { Type: "none", Config: {} },
    Init: true,
    RestartPolicy: { Name: "no" },
  };
}

function bind(folder: string | undefined, target: string): MountSettings[] {
  return folder === undefined ? [] : [{ Type: "bind", Source: folder, Target: target, ReadOnly: true }];
}
