import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { PortcullisError } from "../../errors.ts";
import type { Daemon } from "./daemon.ts";
import { guestFiles, guestFolder, IMAGE_SCRIPTS, imageFolder, imageLabels } from "./image.ts";

export interface BuildOptions {
  readonly image: string;
  /** Network of the build itself, which installs Debian packages: the engine's default, or `host` where it has none. */
  readonly network?: string;
  readonly onProgress: (line: string) => void;
}

interface Download {
  readonly url: string;
  readonly integrity: string;
}

/** How long a build may take, and the download of one file. */
const BUILD_MS = 1_200_000;
const DOWNLOAD_MS = 600_000;

/** Node's names for the processors that images are built for, by the engines' names. */
const PROCESSORS: Readonly<Record<string, string>> = { x86_64: "x64", amd64: "x64", aarch64: "arm64", arm64: "arm64" };

/** Builds the image on the engine, of the files that this package brings and the downloads that those name. */
export async function buildImage(daemon: Daemon, { image, network, onProgress }: BuildOptions): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "portcullis-image-"));
  try {
    const { Architecture: processor } = await daemon.info();
    await gather(folder, PROCESSORS[processor] ?? processor, onProgress);
    await daemon.ask(async (docker, abortSignal) => {
      const src = [
        "Dockerfile",
        ...IMAGE_SCRIPTS,
        "node.tgz",
        "isolated-vm.tgz",
        ...guestFiles().map((name) => `guest/${name}`),
      ];
      const stream = await docker.buildImage(
        { context: folder, src },
        {
          t: image,
          labels: { ...imageLabels() },
          abortSignal,
          forcerm: true,
          ...(network === undefined ? {} : { networkmode: network }),
        },
      );
      await new Promise<void>((resolve, reject) => {
        docker.modem.followProgress(
          stream,
          (error: Error | null) => (error ? reject(error) : resolve()),
          ({ stream: line = "" }: { readonly stream?: string }) => line.startsWith("Step ") && onProgress(line.trim()),
        );
      });
    }, BUILD_MS);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Puts everything that the Dockerfile names into one folder. */
async function gather(folder: string, processor: string, onProgress: (line: string) => void): Promise<void> {
  for (const name of ["Dockerfile", ...IMAGE_SCRIPTS]) copyFileSync(join(imageFolder, name), join(folder, name));
  mkdirSync(join(folder, "guest"));
  for (const name of guestFiles()) copyFileSync(join(guestFolder, name), join(folder, "guest", name));
  const downloads = JSON.parse(readFileSync(join(imageFolder, "downloads.json"), "utf8")) as Record<
    string,
    Record<string, Download>
  >;
  for (const [name, byProcessor] of Object.entries(downloads)) {
    const download = byProcessor[processor] ?? byProcessor.any;
    if (!download)
      throw new PortcullisError(
        "sandbox_unavailable",
        `There is no ${name} for the processor ${processor} of this Docker engine: use one on x64 or arm64.`,
      );
    copyFileSync(await fetchOnce(download, onProgress), join(folder, name));
  }
}

/** A file from the network, kept for the next build. It is what it should be, or it is not used. */
async function fetchOnce({ url, integrity }: Download, onProgress: (line: string) => void): Promise<string> {
  const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "portcullis");
  const path = join(cache, url.slice(url.lastIndexOf("/") + 1));
  if (isIntact(path, integrity)) return path;
  onProgress(`Fetching ${url}`);
  const bytes = await fetchBytes(url);
  mkdirSync(cache, { recursive: true });
  writeFileSync(`${path}.${process.pid}`, bytes);
  renameSync(`${path}.${process.pid}`, path);
  if (isIntact(path, integrity)) return path;
  rmSync(path);
  throw new PortcullisError("sandbox_unavailable", `${url} is not what it should be: its sha512 is another.`);
}

async function fetchBytes(url: string): Promise<Buffer> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(DOWNLOAD_MS) });
    if (!response.ok) throw new Error(`the server answers ${response.status}`);
    return Buffer.from(await response.arrayBuffer());
  } catch (cause) {
    const why =
      cause instanceof Error
        ? `${cause.message}${cause.cause instanceof Error ? `, ${cause.cause.message}` : ""}`
        : String(cause);
    throw new PortcullisError("sandbox_unavailable", `${url} cannot be fetched: ${why}.`, { cause });
  }
}

function isIntact(path: string, integrity: string): boolean {
  try {
    return `sha512-${createHash("sha512").update(readFileSync(path)).digest("base64")}` === integrity;
  } catch {
    return false;
  }
}
