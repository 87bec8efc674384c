// @ts-check
/*
 * The Makefile installs with this: `node install-packages.js demo` the packages that users of this package get, which are
 * those that the demo needs; `tests` those of `make test`; `all` those of package-lock.json; `node VERSION` a node for this
 * folder only. It says first what it will do, and then how far it is: on a terminal in one line that changes, elsewhere in a
 * line every ten seconds. Any node from 18 on runs it.
 */
import { spawn } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";

const QUIET = ["--no-audit", "--no-fund", "--loglevel=error", "--no-progress"];
const { stderr } = process;
const [what, version] = process.argv.slice(2);

const OPTIONS = {
  demo: { args: ["--workspaces=false", "--omit=dev"], about: "packages that the demo needs, 35 MB" },
  tests: { args: ["--workspaces=false"], about: "packages that tests need, 400 MB" },
  all: { args: [], about: "packages of tests, integrations and checks, 610 MB" },
};

/** Folders of the packages that npm installs on this machine, by the lock. */
function foldersOf(/** @type {keyof typeof OPTIONS} */ mode) {
  const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8"));
  const isFor = (/** @type {string[] | undefined} */ names, /** @type {string} */ name) =>
    names?.includes(name) ?? true;
  const found = new Set();
  const add = (/** @type {string} */ from, /** @type {string[]} */ names) => {
    for (const name of names) {
      const folder = locate(packages, from, name);
      if (folder === undefined || found.has(folder)) continue;
      const { os, cpu, libc } = packages[folder];
      if (!isFor(os, process.platform) || !isFor(cpu, process.arch) || !isFor(libc, "glibc")) continue;
      found.add(folder);
      add(folder, neededBy(packages[folder]));
    }
  };
  add("", neededBy(packages[""]));
  if (mode !== "demo") add("", Object.keys(packages[""].devDependencies));
  if (mode === "all") add(INTEGRATIONS, Object.keys(packages[INTEGRATIONS].devDependencies));
  return [...found];
}

function neededBy(/** @type {Record<string, Record<string, any>>} */ about) {
  const { dependencies, optionalDependencies, peerDependencies = {}, peerDependenciesMeta = {} } = about;
  const peers = Object.keys(peerDependencies).filter((name) => peerDependenciesMeta[name]?.optional !== true);
  return [...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers];
}

const INTEGRATIONS = "test/integrations";

/** The folder where code in another folder finds a package; undefined if it is not in the lock. */
function locate(/** @type {object} */ packages, /** @type {string} */ from, /** @type {string} */ name) {
  const above = from.split("/node_modules/");
  const places = above.map((_, index) => `${above.slice(0, above.length - index).join("/node_modules/")}/`);
  return [...places, ""]
    .map((place) => `${place}node_modules/${name}`.replace(/^\//, ""))
    .find((folder) => folder in packages);
}

/** How many of these packages are installed: the file is written with the package. */
function counter(/** @type {readonly string[]} */ folders) {
  let missing = folders;
  return () => {
    missing = missing.filter((folder) => !existsSync(`${folder}/package.json`));
    return `${folders.length - missing.length} of ${folders.length} packages`;
  };
}

/** Runs npm to its end, and exits as it does if it fails. `state` says how far it is. */
async function npm(/** @type {readonly string[]} */ args, /** @type {() => string} */ state) {
  const since = performance.now();
  const clear = stderr.isTTY ? "\r\u001b[2K" : "";
  const end = stderr.isTTY ? "" : "\n";
  const child = spawn("npm", [...args, ...QUIET], { stdio: ["ignore", "ignore", "pipe"] });
  const seconds = () => `${Math.round((performance.now() - since) / 1000)} s`;
  const timer = setInterval(() => stderr.write(`${clear}${state()}, ${seconds()}${end}`), stderr.isTTY ? 200 : 10_000);
  child.stderr.on("data", (text) => stderr.write(`${clear}${text}`));
  const [code, reason] = await new Promise((resolve) => {
    child.once("error", (error) => resolve([1, error.message]));
    child.once("close", (code, signal) => resolve([code ?? 1, `npm ended with ${signal ?? code}`]));
  });
  clearInterval(timer);
  stderr.write(clear);
  if (code !== 0) {
    stderr.write(`Not installed: ${reason} after ${seconds()}.\n`);
    process.exit(code);
  }
  // Optional packages of packages for other machines are not installed, and their own lock does not say so.
  stderr.write(`${state().replace(/ of \d+/, "")} in ${seconds()}.\n`);
}

if (what === "node") {
  stderr.write(
    `This is node ${process.versions.node}: fetching node ${version} from npm, 125 MB, into .node of this folder only ...\n`,
  );
  // The package fetches the binary of this machine by an install script.
  const args = ["install", "--prefix", ".node", "--no-save", "--ignore-scripts=false", `node@${version}`];
  await npm(args, () => `node ${version}`);
  // A third of its space: headers, to compile packages with. None is compiled here.
  for (const part of ["include", "share"])
    rmSync(`.node/node_modules/node/node_modules/node-${process.platform}-${process.arch}/${part}`, {
      recursive: true,
      force: true,
    });
} else {
  const { args, about } = OPTIONS[what];
  const folders = foldersOf(what);
  stderr.write(`Installing the ${folders.length} ${about}, into node_modules ...\n`);
  await npm(["ci", ...args], counter(folders));
}
