import type { Finding } from "../sandbox.ts";
import type { EngineCommand } from "./engine-command.ts";

/** What the kernel keeps from the process of an engine, if a program gets out of V8. */
export function wallFinding({ mode, parts = [] }: EngineCommand): Finding {
  const [namespaces, landlock, noSockets, ownProc, capless] = (
    ["namespaces", "landlock", "noSockets", "ownProc", "capless"] as const
  ).map((part) => parts.includes(part));
  const held = [
    namespaces ? "no network, no signal to others and no capability (namespaces)" : "",
    ownProc ? "no process of others in /proc" : "",
    landlock ? "no file but those that node needs (Landlock)" : "",
    noSockets ? "no socket (seccomp)" : "",
    capless ? "no capability" : "",
    mode === "kernel" ? "no new privileges" : "",
  ].filter((part) => part !== "");
  const missing = [
    namespaces
      ? ""
      : "network and processes are not held: that needs unshare of util-linux, and a kernel that lets this user make namespaces",
    landlock
      ? ""
      : `files${ownProc ? "" : ", and the host's memory in /proc,"} are held by node's permissions alone: Landlock needs a kernel with it, and setpriv of util-linux 2.40 or later`,
    noSockets ? "" : "local sockets, like Docker's, are not held: that needs a setpriv with --seccomp-filter",
  ].filter((part) => part !== "");
  return {
    what: "engine wall",
    state: namespaces && (ownProc || landlock) ? "good" : "weak",
    detail: [held.join(", ") || "none", ...missing].join("; "),
  };
}
