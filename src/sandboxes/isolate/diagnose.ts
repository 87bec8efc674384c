import { now } from "../../base/index.ts";
import type { Finding } from "../sandbox.ts";
import { engineCommand, type EngineCommand, type WallPart } from "./engine-command.ts";
import { addonVersion, findAddon, isSupportedRuntime, NODE_SENTENCE, platformSupport, whyNoAddon } from "./platform.ts";
import { canWatchMemory } from "./process-gauges.ts";

/** V8 x.y belongs to Chrome's release xy, one every four weeks (chromiumdash.appspot.com/schedule). 13.6 was released on this day. */
const V8_ANCHOR = { release: 136, day: Date.UTC(2025, 3, 29) };
const FOUR_WEEKS_MS = 28 * 86_400_000;
const OLD_V8_DAYS = 365;

/** Checks what engines need on this machine, and how well their promises hold here. */
export function diagnoseIsolates(): readonly Finding[] {
  return [
    nodeFinding(),
    platformFinding(),
    addonFinding(),
    v8Finding(),
    memoryFinding(),
    lifelineFinding(),
    wallFinding(engineCommand()),
  ];
}

function nodeFinding(): Finding {
  const { node } = process.versions;
  return isSupportedRuntime(process)
    ? { what: "node", state: "good", detail: node }
    : // isolated-vm may have been compiled for another version of node.
      { what: "node", state: whyNoAddon() === undefined ? "weak" : "missing", detail: `${node}. ${NODE_SENTENCE}` };
}

const PLATFORM_REMARKS = {
  tested: "",
  "not tested": ": isolated-vm has binaries for it, but portcullis is not tested there",
  "no binary": ": isolated-vm has no binaries for it, and has to be compiled; portcullis is not tested there",
};

function platformFinding(): Finding {
  const support = platformSupport(process);
  return {
    what: "platform",
    state: support === "tested" ? "good" : "weak",
    detail: `${process.platform}-${process.arch}${PLATFORM_REMARKS[support]}`,
  };
}

function addonFinding(): Finding {
  const why = whyNoAddon();
  if (why !== undefined) return { what: "isolated-vm", state: "missing", detail: why };
  try {
    findAddon();
    return { what: "isolated-vm", state: "good", detail: addonVersion() };
  } catch (error) {
    return { what: "isolated-vm", state: "missing", detail: `cannot be read: ${(error as Error).message}` };
  }
}

function v8Finding(): Finding {
  const [major = 0, minor = 0] = process.versions.v8.split(".").map(Number);
  const releasedAt = V8_ANCHOR.day + (major * 10 + minor - V8_ANCHOR.release) * FOUR_WEEKS_MS;
  const days = Math.round((now() - releasedAt) / 86_400_000);
  return {
    what: "V8",
    state: days <= OLD_V8_DAYS ? "good" : "weak",
    detail: `${process.versions.v8}, first released about ${days} days ago${days <= OLD_V8_DAYS ? "" : "; only node's security releases fix this version: keep node up to date"}`,
  };
}

function memoryFinding(): Finding {
  return canWatchMemory()
    ? { what: "memory watch", state: "good", detail: "of every kind of memory, from /proc" }
    : {
        what: "memory watch",
        state: "weak",
        detail: "not available on this system: only V8's heap is limited, memory outside of it is not",
      };
}

function lifelineFinding(): Finding {
  const detail =
    engineCommand().mode === "kernel"
      ? "by the kernel (setpriv --pdeathsig)"
      : "by a thread of each engine, which costs 11 MB each";
  return { what: "end with host", state: "good", detail };
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
