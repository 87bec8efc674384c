import type { Finding } from "../../sandbox.ts";
import type { Daemon } from "../daemon.ts";
import { originOf } from "./image.ts";
import { makeMountedFolder, removeMountedFolder } from "../container/mounted-folder.ts";

/** Checks the daemon, the image and the mounted folders. None of them is needed if no program runs in a container. */
export async function diagnoseContainers(daemon: Daemon, image: string): Promise<readonly Finding[]> {
  return [
    await daemonFinding(daemon),
    ...(await imageFinding(daemon, image)),
    ...(await mountsFinding(daemon).catch(() => [])),
  ];
}

async function daemonFinding(daemon: Daemon): Promise<Finding> {
  try {
    const { ServerVersion: version, Runtimes: installed } = await daemon.info();
    const runtimes = ["runc", "runsc"].filter((runtime) => Object.hasOwn(installed, runtime));
    return { what: "docker", state: "good", detail: `daemon ${version}, with ${runtimes.join(" and ")}` };
  } catch (error) {
    return { what: "docker", state: "weak", detail: daemon.unavailable(error).message };
  }
}

/** Reports what the image was built from, if it exists: the age of its packages shows nowhere else. */
async function imageFinding(daemon: Daemon, image: string): Promise<readonly Finding[]> {
  const origin = await originOf(daemon, image).catch(() => undefined);
  if (!origin) return [];
  const { base, baseDigest, node, python } = origin;
  const pinned = base.includes("@sha256:");
  const detail = `node ${node} and python ${python} on ${base}${pinned ? "" : `, then ${baseDigest}`}`;
  // An id without a digest cannot be pulled from a registry.
  const again =
    !pinned && baseDigest.includes("@") ? `; to build the same again: portcullis image build --base ${baseDigest}` : "";
  return [{ what: "image", state: "good", detail: `${detail}${again}` }];
}

/** Reports why containers cannot have pipes and egress, if they cannot. Programs still run without them. */
async function mountsFinding(daemon: Daemon): Promise<readonly Finding[]> {
  if (!(await daemon.sharesMachine())) return [];
  try {
    removeMountedFolder(makeMountedFolder());
    return [];
  } catch (error) {
    return [{ what: "mounts", state: "weak", detail: error instanceof Error ? error.message : String(error) }];
  }
}
