import { existsSync, readFileSync } from "node:fs";
import { findPackageJSON } from "node:module";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { pathToFileURL } from "node:url";
import { dependencies, devDependencies, peerDependencies, version } from "../../package-json.ts";
import { fieldOf, isFields } from "../../../values/fields.ts";
import { isWritableByAll } from "./shared-folder.ts";

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
      zod: `^${dependencies["zod"]}`,
    },
    // Declarations of this package refer to the types of node.
    devDependencies: {
      "@types/node": `^${devDependencies["@types/node"]}`,
      typescript: `^${devDependencies["typescript"]}`,
    },
  };
}

/** Those of these packages that a module of the folder does not find, with their versions, as npm takes them. */
export function missingIn(folder: string, versions: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(versions)
    .filter(([name]) => !isFound(folder, name))
    .map(([name, spec]) => (spec.startsWith("file:") ? spec.slice("file:".length) : `${name}@${spec}`));
}

function isFound(folder: string, name: string): boolean {
  try {
    const found = findPackageJSON(name, pathToFileURL(join(resolve(folder), "tools.ts")));
    // Another user may have put it above the folder, in a place like /tmp.
    return found !== undefined && !isWritableByAll(dirname(modulesOf(found)));
  } catch {
    return false;
  }
}

/** The outermost `node_modules` of a path. */
function modulesOf(path: string): string {
  const parts = path.split(sep);
  return parts.slice(0, parts.indexOf("node_modules") + 1).join(sep);
}

/** Whether the folder's package does not say that its files are modules: node and tsc then take them for CommonJS. */
export function lacksModuleType(folder: string): boolean {
  try {
    const read: unknown = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    return isFields(read) && fieldOf(read, "type") !== "module";
  } catch {
    return false;
  }
}
