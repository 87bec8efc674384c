import { EGRESS_SOCKET } from "./egress/egress-door.ts";
import { readFileSync } from "node:fs";
import { packageFile } from "../../base/index.ts";
import type { ContainerCreateOptions, HostConfig, MountSettings } from "dockerode";
import type { Language } from "../../../bridge/frames.ts";
import type { ContainerLimits } from "./container/container-limits.ts";
import type { EgressPlan } from "./egress/egress-plan.ts";

export interface ContainerPlan {
  readonly image: string;
  readonly runtime: "runc" | "runsc";
  readonly command: readonly string[];
  readonly language: Language;
  readonly limits: ContainerLimits;
  readonly labels: Readonly<Record<string, string>>;
  /** Egress rules; undefined if the container has no egress. */
  readonly egress?: EgressPlan | undefined;
}

export interface ContainerMounts {
  /** Folder with the pipes of its bridge. */
  readonly pipes?: string | undefined;
  /** Folder with the socket of its egress proxy. */
  readonly egress?: string | undefined;
}

/** User id of programs, in the image and on the host. No other process uses it. */
const USER = 65532;

/** Where the pipes are mounted in a container. */
const BRIDGE = "/bridge";
/** Where the folder with the egress socket is mounted in a container. */
const EGRESS = "/egress";
/** Port of the egress forwarder on the container's loopback interface. */
const EGRESS_PORT = 3128;

/** Ends all processes of the container, a busy guest included. Its first process is spared and then ends by itself. */
const END_ALL = "kill -s KILL -- -1";

/**
 * The bridge is on descriptors 3 and 4: the pipes, or the standard streams if there are no usable pipes. Printed text
 * cannot mix with frames, because standard output is redirected to standard error, which goes to the operator.
 *
 * The container's standard input ends when its host does. A busy guest does not notice that, so a watcher process waits
 * for it: with pipes the input stays empty, without them the watcher forwards it. The watcher is a child of the
 * container's first process, so that no program waits for it. A program that ends the watcher may outlive its host.
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

/** gVisor has no pipes and no watcher process: each of its processes takes threads on the host, which are limited. */
const BRIDGED_IN_GVISOR = `exec 3<&0 4>&1; exec "$@" </dev/null 1>&2`;

/**
 * Starts the egress forwarder and waits until it prints `ready` on descriptor 3, or ends. It shares no output with the
 * guest: node makes its streams non-blocking, and then a guest's print would fail and not block.
 */
const FORWARDED = `[ "$(/usr/local/bin/node --v8-pool-size=0 --max-old-space-size=32 --no-warnings /opt/portcullis/egress-forwarder.js ${EGRESS_PORT} ${EGRESS}/${EGRESS_SOCKET} 3>&1 </dev/null >/dev/null 2>&1 &)" = ready ] || exit 1`;

function launcher({ runtime, egress }: ContainerPlan): readonly string[] {
  const bridged = runtime === "runsc" ? BRIDGED_IN_GVISOR : BRIDGED;
  return ["/bin/sh", "-c", egress ? `${FORWARDED}; ${bridged}` : bridged, "guest"];
}

/** Commands that run the guest of each language in the image; see `sandbox-image/`. */
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
  // Sets of strings are iterated in the same order in every execution.
  PYTHONHASHSEED: "0",
};

/** Common HTTP clients read these variables. A program's own servers on the loopback interface are reached directly. */
const PROXY = `http://127.0.0.1:${EGRESS_PORT}`;
const NO_PROXY = "localhost,127.0.0.1";
const EGRESS_ENVIRONMENT = {
  HTTP_PROXY: PROXY,
  HTTPS_PROXY: PROXY,
  http_proxy: PROXY,
  https_proxy: PROXY,
  NO_PROXY,
  no_proxy: NO_PROXY,
  // For node's fetch and its http module.
  NODE_USE_ENV_PROXY: "1",
};

/** Bytes that a TCP connection buffers: least, usual, most. Control groups of version 1 count them for no container. */
const SMALL_BUFFERS = { "net.ipv4.tcp_rmem": "4096 16384 16384", "net.ipv4.tcp_wmem": "4096 16384 16384" };

/** Kernel files that show the host machine to a program: all of `/proc` beside its processes, mounts and network. */
const MASKED_PATHS = `
  acpi asound buddyinfo bus cgroups cmdline config.gz consoles cpuinfo crypto devices diskstats dma driver
  execdomains fb filesystems fs interrupts iomem ioports irq kallsyms kcore key-users keys kmsg kpagecgroup
  kpagecount kpageflags latency_stats loadavg locks mdstat meminfo misc modules mtrr pagetypeinfo partitions
  pressure sched_debug schedstat scsi slabinfo softirqs stat swaps sys sysrq-trigger sysvipc timer_list
  timer_stats tty uptime version version_signature vmallocinfo vmstat zoneinfo`
  .trim()
  .split(/\s+/)
  .map((name) => `/proc/${name}`);
/** A machine has a few thousand terminals. Their memory, and some of its queues', counts against no container. */
const MASKED_ELSEWHERE = ["/sys", "/dev/pts", "/dev/mqueue", "/etc/resolv.conf", "/etc/hosts", "/etc/hostname"];

interface SeccompRule {
  readonly args?: readonly object[];
  readonly [field: string]: unknown;
}

interface SeccompProfile {
  readonly syscalls: readonly (SeccompRule & {
    /** Stands for one rule for each of these values of an argument. */
    readonly among?: { readonly index: number; readonly values: readonly number[] };
  })[];
}

const profiles = new Map<boolean, string>();

/** The allowed system calls; with egress, also those that connect to the proxy. */
function seccompProfile(egress: boolean): string {
  const cached = profiles.get(egress);
  if (cached !== undefined) return cached;
  const profile = readProfile("seccomp.json");
  const more = egress ? readProfile("seccomp-egress.json").syscalls : [];
  const text = JSON.stringify({ ...profile, syscalls: [...profile.syscalls, ...more].flatMap(rulesOf) });
  profiles.set(egress, text);
  return text;
}

function rulesOf({ among, ...rule }: SeccompProfile["syscalls"][number]): readonly SeccompRule[] {
  if (among === undefined) return [rule];
  return among.values.map((value) => ({
    ...rule,
    args: [...(rule.args ?? []), { index: among.index, value, op: "SCMP_CMP_EQ" }],
  }));
}

function readProfile(name: string): SeccompProfile {
  return JSON.parse(readFileSync(packageFile(`#sandbox-image/${name}`), "utf8")) as SeccompProfile;
}

/** All options of a container. They are complete at its creation; nothing is changed later. */
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
    // When the host ends, the container's standard input ends, which ends an idle guest.
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
    // The only files of the host that are visible in the container.
    Mounts: [...bind(mounts.pipes, BRIDGE), ...bind(mounts.egress, EGRESS)],
    CapDrop: ["ALL"],
    SecurityOpt: ["no-new-privileges", `seccomp=${seccompProfile(egress !== undefined)}`],
    MaskedPaths: [...MASKED_PATHS, ...MASKED_ELSEWHERE],
    ReadonlyPaths: [],
    Memory: limits.memoryBytes,
    MemorySwap: limits.memoryBytes,
    NanoCpus: Math.round(limits.cpus * 1e9),
    PidsLimit: limits.processes,
    Ulimits: [
      { Name: "nofile", Soft: limits.openFiles, Hard: limits.openFiles },
      // With 0 the kernel still starts the machine's handler of crashes, as root and outside of the container's limits.
      { Name: "core", Soft: 1, Hard: 1 },
    ],
    ...(egress && { Sysctls: SMALL_BUFFERS }),
    // With the daemon's default log driver, a program that prints could fill the host's disk.
    LogConfig: { Type: "none", Config: {} },
    Init: true,
    RestartPolicy: { Name: "no" },
  };
}

function bind(folder: string | undefined, target: string): MountSettings[] {
  return folder === undefined ? [] : [{ Type: "bind", Source: folder, Target: target, ReadOnly: true }];
}
