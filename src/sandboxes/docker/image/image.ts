import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { fieldOf, type Fields, isFields, packageFile, PortcullisError } from "../../../base/index.ts";
import { type Daemon, type DaemonFailure, isDaemonRefusal } from "../daemon.ts";

export const IMAGE_NAME = "portcullis-sandbox";

const CONTENTS = "portcullis.contents";

export const imageFolder = () => dirname(packageFile("#sandbox-image/Dockerfile"));
export const guestFolder = () => dirname(packageFile("#guest/guest.js"));

/** Scripts that run in containers besides the guests. */
export const IMAGE_SCRIPTS: readonly string[] = ["run-javascript.js", "egress-forwarder.js"];

/** Labels of an image that this version of the package has built. */
export function imageLabels(): Readonly<Record<string, string>> {
  return { [CONTENTS]: contentsDigest() };
}

export function guestFiles(): readonly string[] {
  return readdirSync(guestFolder()).filter((name) => /\.(js|py)$/.test(name));
}

/** Rejects with a `PortcullisError` (`sandbox_unavailable`) that says what is wrong with the image and which command builds it. */
export async function checkImage(daemon: Daemon, image: string): Promise<void> {
  const labels = await labelsOf(daemon, image);
  if (labels === undefined) throw stale(`There is no image ${image} on the Docker daemon at ${daemon.address}`);
  if (labels[CONTENTS] === undefined) throw stale(`The image ${image} was not built by portcullis`);
  if (labels[CONTENTS] !== contentsDigest())
    throw stale(`The image ${image} was built by another version of portcullis, with other guests`);
}

function stale(what: string): PortcullisError {
  return new PortcullisError("sandbox_unavailable", `${what}: portcullis image build`);
}

async function labelsOf(daemon: Daemon, image: string): Promise<Fields | undefined> {
  try {
    const found = await daemon.dial({ path: `/images/${image}/json`, method: "GET" });
    const labels = fieldOf(fieldOf(found, "Config"), "Labels");
    return isFields(labels) ? labels : {};
  } catch (error) {
    const { statusCode, json } = error as DaemonFailure;
    if (statusCode === 404 && isDaemonRefusal(json)) return undefined;
    throw error;
  }
}

let digest: string | undefined;

function contentsDigest(): string {
  if (digest !== undefined) return digest;
  const hash = createHash("sha256");
  const add = (name: string, path: string) => hash.update(`${name}\0`).update(readFileSync(path)).update("\0");
  for (const name of ["Dockerfile", "downloads.json", ...IMAGE_SCRIPTS]) add(name, `${imageFolder()}/${name}`);
  for (const name of guestFiles().toSorted()) add(name, `${guestFolder()}/${name}`);
  digest = hash.digest("hex").slice(0, 16);
  return digest;
}
