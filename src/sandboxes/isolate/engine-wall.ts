import type { Finding } from "../sandbox.ts";
import type { EngineCommand, WallPart } from "./engine-command.ts";

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
