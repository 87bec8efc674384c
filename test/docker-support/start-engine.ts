/*
 * Sees to it that there is a Docker daemon with the image, and prints, as the last line, where it is or why there is
 * none: `{"address": …}` or `{"reason": …}`. Where no engine answers, one is started that only tests know of, which
 * takes root and Debian. It runs until `stop-engine.ts` ends it; what it holds is kept for the next time.
 */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, openSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { buildImage } from "../../src/sandboxes/docker/image/build-image.ts";
import { Daemon } from "../../src/sandboxes/docker/daemon.ts";
import { ALL_TESTS } from "../support/all-tests.ts";
import { checkImage, IMAGE_NAME } from "../../src/sandboxes/docker/image/image.ts";
import { needOwnFolder, OWN_ADDRESS, OWN_FOLDER } from "./own-engine.ts";

const BASE = "debian:bookworm-slim";
const STARTING_MS = 30_000;
const PULLING_MS = 60_000;

/** Whether packages are installed and the image is built, which takes minutes. */
const MAY_INSTALL = ALL_TESTS || process.env.CI !== undefined;

const hasCommand = (command: string) => spawnSync("sh", ["-c", `command -v ${command}`]).status === 0;

/** Why there can be no engine here. */
class NoEngine extends Error {}

const say = (line: string) => process.stderr.write(`${line}\n`);

try {
  const own = !(await answers(new Daemon()));
  if (own && !MAY_INSTALL && !hasCommand("dockerd"))
    throw new NoEngine("no Docker daemon answers, there is no dockerd, and only make test-all installs it");
  if (own) await startOwn();
  const daemon = new Daemon();
  if (await isStale(daemon)) {
    if (!MAY_INSTALL) throw new NoEngine(`the image ${IMAGE_NAME} is missing or old, and only make test-all builds it`);
    if (own) await needBase(daemon);
    say(`Building the image ${IMAGE_NAME} ...`);
    await buildImage(daemon, { image: IMAGE_NAME, onProgress: say, ...(own ? { network: "host" } : {}) });
  }
  process.stdout.write(`${JSON.stringify({ address: daemon.address })}\n`);
} catch (error) {
  const reason = error instanceof Error ? error.message.replace(/\s+/g, " ") : String(error);
  process.stdout.write(`${JSON.stringify({ reason })}\n`);
}

async function answers(daemon: Daemon): Promise<boolean> {
  try {
    await daemon.ask((docker) => docker.ping());
    return true;
  } catch {
    return false;
  }
}

async function isStale(daemon: Daemon): Promise<boolean> {
  try {
    await checkImage(daemon, IMAGE_NAME);
    return false;
  } catch {
    return true;
  }
}

async function startOwn(): Promise<void> {
  if (process.env.DOCKER_HOST && process.env.DOCKER_HOST !== OWN_ADDRESS)
    throw new NoEngine(`no engine answers at DOCKER_HOST, ${process.env.DOCKER_HOST}`);
  process.env.DOCKER_HOST = OWN_ADDRESS;
  const daemon = new Daemon();
  if (await answers(daemon)) return;
  if (process.getuid?.() !== 0) throw new NoEngine("no Docker daemon answers, and only root can start one");
  needPackage("docker.io", "dockerd");
  say(`Starting a Docker daemon for these tests in ${OWN_FOLDER} ...`);
  needOwnFolder();
  const log = openSync(`${OWN_FOLDER}/log`, "w");
  const child = spawn(
    // In a mount namespace of its own it leaves no mounts behind.
    "unshare",
    [
      "--mount",
      "dockerd",
      "--bridge=none",
      "--iptables=false",
      "--ip6tables=false",
      `--host=${OWN_ADDRESS}`,
      `--data-root=${OWN_FOLDER}/data`,
      `--exec-root=${OWN_FOLDER}/exec`,
      `--pidfile=${OWN_FOLDER}/pid`,
    ],
    { detached: true, stdio: ["ignore", log, log] },
  );
  child.unref();
  const deadline = Date.now() + STARTING_MS;
  while (!(await answers(daemon))) {
    if (child.exitCode !== null || Date.now() > deadline)
      throw new NoEngine(
        `a Docker daemon cannot start here: ${readFileSync(`${OWN_FOLDER}/log`, "utf8").trim().split("\n").at(-1)}`,
      );
    await delay(50);
  }
}

function needPackage(name: string, command: string): void {
  if (hasCommand(command)) return;
  if (!existsSync("/etc/debian_version"))
    throw new NoEngine(`no Docker daemon answers, and there is no ${command} to start one`);
  say(`Installing ${name} ...`);
  const install = `apt-get install --yes --no-install-recommends ${name}`;
  spawnSync("sh", ["-c", `${install} || { apt-get update && ${install}; }`], {
    stdio: "ignore",
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
  });
  if (!hasCommand(command)) throw new NoEngine(`no Docker daemon answers, and ${name} could not be installed`);
}

/** The image that ours is built upon: from Docker Hub, and where that cannot be reached from Debian itself. */
async function needBase(daemon: Daemon): Promise<void> {
  const inspect = () => daemon.ask((docker) => docker.getImage(BASE).inspect());
  const there = await inspect().catch(() => undefined);
  if (there || (await pulled(daemon))) return;
  needPackage("mmdebstrap", "mmdebstrap");
  say(`Making ${BASE} from Debian's packages ...`);
  const tar = `${OWN_FOLDER}/base.tar`;
  if (!existsSync(tar)) {
    // What it makes depends on how its file is called.
    const made = `${OWN_FOLDER}/unfinished.tar`;
    const { status } = spawnSync("sh", ["-c", `mmdebstrap --variant=minbase bookworm ${made} && mv ${made} ${tar}`]);
    if (status !== 0) throw new NoEngine(`${BASE} cannot be had, from Docker Hub or from Debian`);
  }
  const [repo, tag] = BASE.split(":");
  await daemon.ask(async (docker) => {
    const stream = await docker.importImage(tar, { repo, tag });
    await new Promise((resolve) => docker.modem.followProgress(stream, resolve));
  }, STARTING_MS);
}

async function pulled(daemon: Daemon): Promise<boolean> {
  try {
    await daemon.ask(async (docker, abortSignal) => {
      const stream = await docker.pull(BASE, { abortSignal });
      await new Promise<void>((resolve, reject) => {
        docker.modem.followProgress(stream, (error: Error | null, said: readonly { readonly error?: string }[]) => {
          const failed = said.find((one) => one.error !== undefined)?.error;
          if (error !== null || failed !== undefined) reject(error ?? new Error(failed));
          else resolve();
        });
      });
    }, PULLING_MS);
    return true;
  } catch {
    return false;
  }
}
