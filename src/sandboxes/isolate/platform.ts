import { createRequire } from "node:module";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

/** The sentence about versions of node and other runtimes in errors, in `doctor`, and in the documents. */
export const NODE_SENTENCE =
  "Isolates run under node 24 and 26, and not under node 22, another version, Bun or Deno: isolated-vm has no binaries for them.";

/** Major versions of node that isolated-vm 7 ships binaries for. */
const NODE_MAJORS: ReadonlySet<number> = new Set([24, 26]);
export const PLATFORMS: readonly string[] = ["linux-x64", "linux-arm64", "darwin-arm64", "win32-x64"];

/** The first version of isolated-vm in which a program cannot get out by way of a Reference (GHSA-864f-rcv7-6rh4). */
const SMALLEST_ADDON = [7, 0, 1] as const;

/** The part of `process` that says what runs this code, and where. */
export type Host = Pick<NodeJS.Process, "platform" | "arch" | "versions">;

/** Whether isolated-vm has binaries for this runtime. Bun and Deno pass for node, but cannot load them. */
export function isSupportedRuntime({ versions }: Pick<Host, "versions">): boolean {
  const { bun, deno, node } = versions;
  return bun === undefined && deno === undefined && NODE_MAJORS.has(Number(node.split(".")[0]));
}

/** Finds the binary that isolated-vm would load for this node, in the same way. Throws if there is none. */
export function findAddon(): string {
  const main = fileURLToPath(import.meta.resolve("isolated-vm"));
  const { path } = createRequire(main)("node-gyp-build") as { readonly path: (folder: string) => string };
  return path(dirname(main));
}

export function addonVersion(): string {
  return (createRequire(import.meta.url)("isolated-vm/package.json") as { readonly version: string }).version;
}

/** Why isolated-vm of this version may not run programs; undefined if it may. A version before a release is not that release. */
export function whyOldAddon(version: string): string | undefined {
  const parts = version.split(/[.+]/, 3).map(Number);
  const at = SMALLEST_ADDON.findIndex((smallest, index) => parts[index] !== smallest);
  if (at < 0 || (parts[at] ?? 0) > (SMALLEST_ADDON[at] ?? 0)) return undefined;
  const smallest = SMALLEST_ADDON.join(".");
  return `isolated-vm ${version} lets a program out of its isolate (GHSA-864f-rcv7-6rh4): npm install isolated-vm@${smallest}, or a later version.`;
}

/** Why isolated-vm cannot run programs on this host, in sentences; undefined if it can. */
export function whyNoAddon(host: Host = process): string | undefined {
  const { bun, deno, node } = host.versions;
  if (bun !== undefined) return `This is Bun ${bun}. ${NODE_SENTENCE}`;
  if (deno !== undefined) return `This is Deno ${deno}. ${NODE_SENTENCE}`;
  try {
    findAddon();
    return whyOldAddon(addonVersion());
  } catch (error) {
    // There it cannot be installed.
    if (!isSupportedRuntime(host)) return `This is node ${node}. ${NODE_SENTENCE}`;
    if ((error as NodeJS.ErrnoException).code === "ERR_MODULE_NOT_FOUND")
      return `The package isolated-vm is not installed: npm install isolated-vm. ${NODE_SENTENCE}`;
    // The files may not be readable now, for example without free file descriptors.
    const platform = `${host.platform}-${host.arch}`;
    if (PLATFORMS.includes(platform)) return undefined;
    return `isolated-vm has no binary for ${platform}: compile it (npm rebuild isolated-vm, which needs a C++ compiler), or use another platform that is listed in docs/operating.md.`;
  }
}
