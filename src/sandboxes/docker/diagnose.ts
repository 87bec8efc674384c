import type { Finding } from "../sandbox.ts";
import type { Daemon } from "./daemon.ts";
import { originOf } from "./image.ts";
import { makeMountedFolder, removeMountedFolder } from "./mounted-folder.ts";

/** The daemon, the image and the folders that containers take. None of them is needed where no program runs in a container. */
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

/** What the image was built of, where there is one. Its packages are as old as it is, which nothing else shows. */
async function imageFinding(daemon: Daemon, image: string): Promise<readonly Finding[]> {
  const origin = await originOf(daemon, image).catch(() => undefined);
  if (!origin) return [];
  const { base, baseDigest, node, python } = origin;
  const pinned = base.includes("@sha256:");
  const detail = `node ${node} and python ${python} upon ${base}${pinned ? "" : `, which was ${baseDigest}`}`;
  // An id is no name that a registry knows.
  const again =
    !pinned && baseDigest.includes("@") ? `; to have the same again: portcullis image build --base ${baseDigest}` : "";
  return [{ what: "image", state: "good", detail: `${detail}${again}` }];
}

/** Why containers here have no pipes and no egress, where they have none. Their programs run all the same. */
async function mountsFinding(daemon: Daemon): Promise<readonly Finding[]> {
  if (!(await daemon.sharesMachine())) return [];
  try {
    removeMountedFolder(makeMountedFolder());
    return [];
  } catch (error) {
    return [{ what: "mounts", state: "weak", detail: error instanceof Error ? error.message : String(error) }];
  }
}
