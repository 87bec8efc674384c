import { expect, test } from "vitest";
import { containerLimits } from "../../../src/sandboxes/docker/container/container-limits.ts";
import {
  type ContainerPlan,
  containerOptions,
  GUEST_COMMANDS,
} from "../../../src/sandboxes/docker/container-options.ts";
import { planEgress } from "../../../src/sandboxes/docker/egress/egress-plan.ts";

const MIB = 1024 * 1024;
const limits = containerLimits({ memoryBytes: 128 * MIB, frameBytes: 4 * MIB }, "javascript");
const plan: ContainerPlan = {
  image: "an-image",
  runtime: "runsc",
  command: GUEST_COMMANDS.javascript(limits),
  language: "javascript",
  limits,
  labels: { "portcullis.host": "1:2" },
};
const options = containerOptions(plan);
const host = options.HostConfig ?? {};

test("a container has no network, capability, new privilege, swap or log, and writes only to its scratch space", () => {
  expect(options.NetworkDisabled).toBe(true);
  expect(options.User).toBe("65532:65532");
  expect(host).toMatchObject({
    Runtime: "runsc",
    NetworkMode: "none",
    IpcMode: "none",
    ReadonlyRootfs: true,
    CapDrop: ["ALL"],
    LogConfig: { Type: "none" },
    Init: true,
    Memory: 256 * MIB,
    MemorySwap: 256 * MIB,
    PidsLimit: 64,
    NanoCpus: 1e9,
  });
  expect(host.SecurityOpt?.[0]).toBe("no-new-privileges");
  expect(host.Tmpfs).toEqual({
    "/tmp": `rw,noexec,nosuid,nodev,size=${16 * MIB},nr_inodes=1024,uid=65532,gid=65532,mode=0700`,
  });
  expect(host.Ulimits).toContainEqual({ Name: "nofile", Soft: 256, Hard: 256 });
});

test("only the pipes, and with egress its folder read-only, are mounted; the daemon's socket is not", () => {
  expect(host.Binds).toBeUndefined();
  expect(host.Mounts).toEqual([]);
  expect(containerOptions(plan, { pipes: "/tmp/pipes", egress: "/tmp/way" }).HostConfig?.Mounts).toEqual([
    { Type: "bind", Source: "/tmp/pipes", Target: "/bridge", ReadOnly: true },
    { Type: "bind", Source: "/tmp/way", Target: "/egress", ReadOnly: true },
  ]);
  expect(host.VolumesFrom).toBeUndefined();
  expect(JSON.stringify(options)).not.toContain("docker.sock");
});

test("in gVisor only the guest runs beside the first process", () => {
  const script = (runtime: "runc" | "runsc") => containerOptions({ ...plan, runtime }).Cmd?.[2] ?? "";
  expect(script("runsc")).not.toContain("kill");
  expect(script("runc")).toContain("kill");
});

test("a container gets no variable of the host's environment", () => {
  expect(options.Env?.map((entry) => entry.split("=", 1)[0])).toEqual([
    "PATH",
    "HOME",
    "TZ",
    "LC_ALL",
    "LANG",
    "PYTHONHASHSEED",
  ]);
});

interface Profile {
  readonly defaultAction: string;
  readonly syscalls: readonly {
    readonly names: readonly string[];
    readonly action: string;
    readonly errnoRet?: number;
    readonly args?: readonly { readonly index: number; readonly value: number; readonly op: string }[];
  }[];
}

const profileOf = (text: string | undefined) => JSON.parse(text?.replace("seccomp=", "") ?? "{}") as Profile;

test("the system calls that may be made are listed, and the dangerous ones are not", () => {
  const profile = profileOf(host.SecurityOpt?.[1]);
  expect(profile.defaultAction).toBe("SCMP_ACT_ERRNO");
  const allowed = new Set(profile.syscalls.flatMap(({ names, action }) => (action === "SCMP_ACT_ALLOW" ? names : [])));
  const wanted = ["sendto", "socketpair", "clone", "execve", "mmap"];
  expect(wanted.filter((name) => !allowed.has(name))).toEqual([]);
  const refused =
    "socket connect bind listen accept accept4 ptrace process_vm_readv process_vm_writev io_uring_setup io_uring_enter memfd_create memfd_secret pidfd_open pidfd_getfd vmsplice keyctl add_key bpf perf_event_open userfaultfd personality mount unshare setns chroot pivot_root open_by_handle_at execveat kexec_load init_module clone3 landlock_create_ruleset seccomp inotify_init1 inotify_add_watch timer_create rt_sigqueueinfo setsockopt syncfs sync";
  expect(refused.split(" ").filter((name) => allowed.has(name))).toEqual([]);
  // ENOSYS: with EPERM, the C library could start no thread.
  expect(profile.syscalls.find(({ names }) => names.includes("clone3"))?.errnoRet).toBe(38);
});

/** Calls that do one of many things, and the argument that says which. */
const BY_ARGUMENT: Readonly<Record<string, number>> = {
  clone: 0,
  fcntl: 1,
  getsockopt: 2,
  ioctl: 1,
  madvise: 2,
  mmap: 3,
  prctl: 0,
  prlimit64: 1,
  setrlimit: 0,
  setsockopt: 2,
  socket: 0,
  socketpair: 0,
};
/** Others have such names as a rule; these two concern registers and the process's own descriptors. */
const LIKELY = /(?:ctl|cntl|sockopt|advise)$/;
const HARMLESS = ["epoll_ctl", "arch_prctl"];

test("a system call that can do many things may do only what is listed", () => {
  const open = containerOptions({ ...plan, egress: planEgress({ hosts: ["api.example.com"] }) });
  const rules = profileOf(open.HostConfig?.SecurityOpt?.[1]).syscalls.filter(
    ({ action }) => action === "SCMP_ACT_ALLOW",
  );
  const names = new Set(rules.flatMap((rule) => rule.names));
  expect([...names].filter((name) => LIKELY.test(name) && !(name in BY_ARGUMENT))).toEqual(HARMLESS);
  for (const { names: named, args = [] } of rules)
    for (const name of named) {
      const index = BY_ARGUMENT[name];
      if (index === undefined) continue;
      // A limit of any kind may be read, which is told by the absence of a new one.
      const reads = name === "prlimit64" && args.some((arg) => arg.index === 2 && arg.value === 0);
      expect([name, reads || args.some((arg) => arg.index === index)]).toEqual([name, true]);
      // The kernel ignores the upper half of most arguments. A comparison for inequality would not.
      for (const { op } of args) expect(["SCMP_CMP_EQ", "SCMP_CMP_MASKED_EQ"]).toContain(op);
    }
});

test("a container cannot flush the machine's disk, or have a handler of its crashes started there", () => {
  const { syscalls } = profileOf(host.SecurityOpt?.[1]);
  for (const name of ["fsync", "fdatasync", "sync_file_range", "fadvise64"])
    expect(syscalls.filter(({ names }) => names.includes(name))).toMatchObject([
      { action: "SCMP_ACT_ERRNO", errnoRet: 0 },
    ]);
  expect(host.Ulimits).toContainEqual({ Name: "core", Soft: 1, Hard: 1 });
});

test("egress allows streams over IPv4 and to local sockets, and no other family, type or protocol; there is still no network", () => {
  const open = containerOptions({ ...plan, egress: planEgress({ hosts: ["api.example.com"] }) });
  expect(open.NetworkDisabled).toBe(true);
  expect(open.HostConfig?.NetworkMode).toBe("none");
  const without = profileOf(host.SecurityOpt?.[1]).syscalls;
  const added = profileOf(open.HostConfig?.SecurityOpt?.[1]).syscalls.slice(without.length);
  expect(new Set(added.flatMap(({ names }) => names))).toEqual(
    new Set(["socket", "accept", "accept4", "bind", "connect", "listen", "getsockopt", "setsockopt"]),
  );
  const sockets = added.filter(({ names }) => names.includes("socket"));
  expect(sockets.map(({ args = [] }) => args.map(({ value, op }) => `${op.slice(9)} ${value}`))).toEqual([
    ["EQ 1", "MASKED_EQ 15", "EQ 0"],
    ["EQ 2", "MASKED_EQ 15", "EQ 0"],
    ["EQ 2", "MASKED_EQ 15", "EQ 6"],
  ]);
});
