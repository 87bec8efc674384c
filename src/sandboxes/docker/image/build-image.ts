import { createHash, randomUUID } from "node:crypto";
import { copyFileSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type Docker from "dockerode";
import { ByteList, deadline, optionError, PortcullisError, textOf } from "../../../base/index.ts";
import type { Daemon } from "../daemon.ts";
import { guestFiles, guestFolder, IMAGE_SCRIPTS, imageFolder, imageLabels } from "./image.ts";
import { makeMountedFolder, removeMountedFolder } from "../container/mounted-folder.ts";

export interface BuildOptions {
  readonly image: string;
  /** Network of the build, which installs Debian packages: the daemon's default network, or for example `host`. */
  readonly network?: string;
  /** Debian image to build on, by name or by digest; `debian:bookworm-slim` by default. */
  readonly base?: string;
  readonly onProgress: (line: string) => void;
}

interface Download {
  readonly url: string;
  readonly integrity: string;
}

const BASE = "debian:bookworm-slim";
/** A name, a tag, a digest; or an id. */
const BASE_NAME = /^[a-z0-9][\w.\-/:@]{0,254}$/;

/** How long a build and the download of one file may take, in milliseconds. */
const BUILD_MS = 1_200_000;
const DOWNLOAD_MS = 600_000;
/** Largest download, in bytes; node's has 50 MB. */
const DOWNLOAD_BYTES = 256 * 1024 * 1024;

/** Processors that images are built for: node's names by the daemon's names. */
const PROCESSORS: Readonly<Record<string, string>> = { x86_64: "x64", amd64: "x64", aarch64: "arm64", arm64: "arm64" };

/** Builds the image of this package's files and the downloads that they name. Its labels record what it is made of. */
export async function buildImage(
  daemon: Daemon,
  { image, network, base = BASE, onProgress }: BuildOptions,
): Promise<void> {
  if (!BASE_NAME.test(base)) throw optionError("base", `the name of an image, like ${BASE}`, base);
  // Another user who could replace a file in the folder would choose what is built.
  const folder = makeMountedFolder();
  try {
    const processor = textOf(await daemon.info(), "Architecture") ?? "";
    await gather(folder, PROCESSORS[processor] ?? processor, onProgress);
    const src = [
      "Dockerfile",
      ...IMAGE_SCRIPTS,
      "node.tgz",
      "isolated-vm.tgz",
      ...guestFiles().map((name) => `guest/${name}`),
    ];
    await daemon.ask(async (docker, abortSignal) => {
      const options = { t: image, labels: imageLabels(), buildargs: { BASE: base }, forcerm: true };
      const stream = await docker.buildImage(
        { context: folder, src },
        { ...options, abortSignal, ...(network !== undefined && { networkmode: network }) },
      );
      await followed(docker, stream, onProgress);
    }, BUILD_MS);
  } finally {
    removeMountedFolder(folder);
  }
}

function followed(docker: Docker, stream: NodeJS.ReadableStream, onProgress: (line: string) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    docker.modem.followProgress(
      stream,
      (error: Error | null, events: readonly unknown[]) => {
        // A failed step is reported as an event, and the stream still ends without an error.
        const failed = events.flatMap((event) => textOf(event, "error") ?? []);
        if (error !== null || failed.length > 0) reject(error ?? new Error(failed[0]));
        else resolve();
      },
      ({ stream: line = "" }: { readonly stream?: string }) => line.startsWith("Step ") && onProgress(line.trim()),
    );
  });
}

async function gather(folder: string, processor: string, onProgress: (line: string) => void): Promise<void> {
  for (const name of ["Dockerfile", ...IMAGE_SCRIPTS]) copyFileSync(join(imageFolder(), name), join(folder, name));
  mkdirSync(join(folder, "guest"));
  for (const name of guestFiles()) copyFileSync(join(guestFolder(), name), join(folder, "guest", name));
  const downloads = JSON.parse(readFileSync(join(imageFolder(), "downloads.json"), "utf8")) as Record<
    string,
    Record<string, Download>
  >;
  for (const [name, byProcessor] of Object.entries(downloads)) {
    const download = byProcessor[processor] ?? byProcessor.any;
    if (!download)
      throw new PortcullisError(
        "sandbox_unavailable",
        `There is no ${name} for this Docker daemon's processor, ${processor}: use a daemon on x64 or arm64.`,
      );
    writeFileSync(join(folder, name), await fetchOnce(download, onProgress));
  }
}

/** Downloads a file, or reads it from the cache of an earlier build. The returned bytes themselves are checked against `integrity`. */
export async function fetchOnce(
  { url, integrity }: Download,
  onProgress: (line: string) => void,
  cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "portcullis"),
): Promise<Buffer> {
  const path = join(cache, url.slice(url.lastIndexOf("/") + 1));
  const cached = readCached(path);
  if (cached && isIntact(cached, integrity)) return cached;
  onProgress(`Fetching ${url}`);
  const bytes = await fetchBytes(url);
  if (!isIntact(bytes, integrity))
    throw new PortcullisError(
      "sandbox_unavailable",
      `The download from ${url} does not have the expected SHA-512 digest and was not used. Try again.`,
    );
  mkdirSync(cache, { recursive: true, mode: 0o700 });
  const unfinished = `${path}.${randomUUID()}`;
  // A new file under an unpredictable name: if others may write to the folder, a link of theirs is not followed.
  writeFileSync(unfinished, bytes, { flag: "wx", mode: 0o600 });
  renameSync(unfinished, path);
  return bytes;
}

async function fetchBytes(url: string): Promise<Buffer> {
  try {
    const response = await fetch(url, { signal: deadline(DOWNLOAD_MS) });
    if (!response.ok || !response.body) throw new Error(`the server answers ${response.status}`);
    const body = new ByteList();
    for await (const part of response.body as AsyncIterable<Uint8Array>) {
      body.add(part);
      if (body.bytes > DOWNLOAD_BYTES) throw new Error(`it is larger than ${DOWNLOAD_BYTES} bytes`);
    }
    return body.take();
  } catch (cause) {
    const reason =
      cause instanceof Error
        ? `${cause.message}${cause.cause instanceof Error ? `, ${cause.cause.message}` : ""}`
        : String(cause);
    throw new PortcullisError("sandbox_unavailable", `${url} cannot be fetched: ${reason}.`, { cause });
  }
}

function readCached(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}

function isIntact(bytes: Buffer, integrity: string): boolean {
  return `sha512-${createHash("sha512").update(bytes).digest("base64")}` === integrity;
}
