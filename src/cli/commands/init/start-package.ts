import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { devDependencies, peerDependencies, version } from "../../package-json.ts";
import { fieldOf } from "../../../base/index.ts";

/** Where npm gets this package from, for a folder that is to depend on it. */
export interface PackageSource {
  /** As `dependencies` in package.json have it. */
  readonly spec: string;
  /** The clone of the sources that has to be packed into the folder first. */
  readonly clone?: string;
}

/** `home` is the folder of this package: in `node_modules`, where npm says what it was installed from, or a clone. */
export function sourceOf(home: string, folder: string): PackageSource {
  // It is not published with the package.
  if (existsSync(join(home, "package-lock.json"))) return { spec: `file:portcullis-${version}.tgz`, clone: home };
  const tarball = tarballOf(home);
  if (tarball === undefined) return { spec: `^${version}` };
  return { spec: `file:${relative(resolve(folder), tarball).replaceAll(sep, "/")}` };
}

/** The tarball that npm has installed the package in this folder from; undefined if it came from elsewhere. */
function tarballOf(home: string): string | undefined {
  const modules = dirname(home);
  try {
    const lock: unknown = JSON.parse(readFileSync(join(modules, ".package-lock.json"), "utf8"));
    const entry = fieldOf(fieldOf(lock, "packages"), `node_modules/${basename(home)}`);
    const resolved = fieldOf(entry, "resolved");
    if (typeof resolved !== "string" || !resolved.startsWith("file:")) return undefined;
    const path = resolved.slice("file:".length);
    return [path, decodeURIComponent(path)].map((one) => resolve(dirname(modules), one)).find((one) => existsSync(one));
  } catch {
    return undefined;
  }
}

/** What the folder needs beside this package, with its versions. */
export interface Needs {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

/** `isServer`: whether the folder serves MCP clients. */
export function needsOf({ spec }: PackageSource, isServer: boolean): Needs {
  const server = "@modelcontextprotocol/server";
  return {
    dependencies: {
      ...(isServer ? { [server]: peerDependencies[server] ?? "*" } : {}),
      portcullis: spec,
      zod: peerDependencies["zod"] ?? "*",
    },
    // Declarations of this package refer to the types of node.
    devDependencies: {
      "@types/node": `^${devDependencies["@types/node"]}`,
      typescript: `^${devDependencies["typescript"]}`,
    },
  };
}
