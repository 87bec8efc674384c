import { execFile } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import packageJson from "../../../package.json" with { type: "json" };
import { makeClone } from "../../support/make-clone.ts";

export const DOCKERFILE = readFileSync(new URL("../../../docs/serve.Dockerfile", import.meta.url), "utf8");

/** An instruction whose argument is a JSON list. */
export function listIn(instruction: string): readonly string[] {
  const [, list = "[]"] = new RegExp(`^${instruction} (\\[.*\\])$`, "m").exec(DOCKERFILE) ?? [];
  return JSON.parse(list) as string[];
}

const run = promisify(execFile);
const root = fileURLToPath(new URL("../../../", import.meta.url));
const { NODE_OPTIONS: _, ...env } = process.env;
const quiet = ["--no-audit", "--no-fund", "--loglevel=error"];
const withVersion = (name: keyof typeof packageJson.devDependencies) => `${name}@${packageJson.devDependencies[name]}`;

/** Packs this package as it would be published, and returns the path of the tarball. */
async function pack(folder: string): Promise<string> {
  const clone = join(folder, "clone");
  makeClone(clone);
  const path = [dirname(process.execPath), env["PATH"]].join(":");
  await run("npm", ["pack", "--pack-destination", folder, ...quiet], { cwd: clone, env: { ...env, PATH: path } });
  return join(folder, `portcullis-${packageJson.version}.tgz`);
}

/** The folder that the image is built of, as docs/serving.md says how to make one: the package, what it needs to serve, node, and the tools. */
export async function makeServerFolder(folder: string): Promise<string> {
  const tarball = await pack(folder);
  const server = join(folder, "server");
  mkdirSync(server);
  writeFileSync(join(server, "package.json"), JSON.stringify({ private: true, type: "module" }));
  const packages = [tarball, withVersion("hono"), `node@${process.versions.node}`];
  await run("npm", ["install", "--ignore-scripts=false", ...quiet, ...packages], { cwd: server, env });
  cpSync(new URL("fixtures/tools.js", import.meta.url), join(server, "tools.js"));
  cpSync(join(root, "docs/serve.Dockerfile"), join(server, "Dockerfile"));
  return server;
}
