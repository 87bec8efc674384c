import type { Finding } from "../sandbox.ts";
import { engineCommand, type EngineCommand, type WallPart } from "./engine-command.ts";
import { addonVersion, findAddon, isSupportedRuntime, NODE_SENTENCE, whyNoAddon } from "./platform.ts";
import { ProcessGauge } from "./process-gauges.ts";

export function diagnoseIsolates(): readonly Finding[] {
  const { node, v8 } = process.versions;
  const why = whyNoAddon() ?? whyUnread();
  const gauge = new ProcessGauge(process.pid, "memory");
  const canWatch = (gauge.read() ?? 0) > 0;
  gauge.close();
  return [
    isSupportedRuntime(process)
      ? { what: "node", state: "good", detail: `${node}, with V8 ${v8}, on ${process.platform}-${process.arch}` }
      : // isolated-vm may have been compiled for another version of node.
        { what: "node", state: why === undefined ? "weak" : "missing", detail: `${node}. ${NODE_SENTENCE}` },
    { what: "isolated-vm", state: why === undefined ? "good" : "missing", detail: why ?? addonVersion() },
    canWatch
      ? { what: "memory watch", state: "good", detail: "of every kind of memory, from /proc" }
      : {
          what: "memory watch",
          state: "weak",
          detail: "not available on this system: only V8's heap is limited, memory outside of it is not",
        },
    {
      what: "end with host",
      state: "good",
      detail:
        engineCommand().mode === "kernel"
          ? "by the kernel (setpriv --pdeathsig)"
          : "by a thread of each engine, which costs 11 MB each",
    },
    wallFinding(engineCommand()),
  ];
}

/** Why the files of isolated-vm cannot be read now; undefined if they can. */
function whyUnread(): string | undefined {
  try {
    findAddon();
    return undefined;
  } catch (error) {
    return `cannot be read: ${(error as Error).message}`;
  }
}

/** What the kernel keeps from the process of an engine, if a program gets out of V8. */
export function wallFinding({ mode, parts = [] }: EngineCommand): Finding {
  const has = (part: WallPart) => parts.includes(part);
  const held = [
    has("namespaces") ? "no network, no signal to others and no capability (namespaces)" : "",
    has("ownProc") ? "no process of others in /proc" : "",
    has("landlock") ? "no file but those that node needs (Landlock)" : "",
    has("noSockets") ? "no socket (seccomp)" : "",
    has("capless") ? "no capability" : "",
    mode === "kernel" ? "no new privileges" : "",
  ].filter((part) => part !== "");
  const missing = [
    has("namespaces")
      ? ""
      : "network and processes are not held: that needs unshare of util-linux, and a kernel that lets this user make namespaces",
    has("landlock")
      ? ""
      : `files${has("ownProc") ? "" : ", and the host's memory in /proc,"} are held by node's permissions alone: Landlock needs a kernel with it, and setpriv of util-linux 2.40 or later`,
    has("noSockets") ? "" : "local sockets, like Docker's, are not held: that needs a setpriv with --seccomp-filter",
  ].filter((part) => part !== "");
  return {
    what: "engine wall",
    state: has("namespaces") && (has("ownProc") || has("landlock")) ? "good" : "weak",
    detail: [held.join(", ") || "none", ...missing].join("; "),
  };
}
