import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ALL_TESTS } from "../support/all-tests.ts";

/** Where Debian keeps the servers, each version in a folder. */
const DEBIAN = "/usr/lib/postgresql";

export interface PostgresBinaries {
  /** Folder of `postgres`, `initdb` and the others. */
  readonly folder: string;
  /** The user that runs them: root may not. */
  readonly user: { readonly uid: number; readonly gid: number } | undefined;
}

/** The newest server of this machine, or why there is none. As root on Debian, `make test-all` installs it. */
export function findPostgres(): PostgresBinaries | { readonly reason: string } {
  const isRoot = process.getuid?.() === 0;
  if (!newest() && isRoot && ALL_TESTS && existsSync("/etc/debian_version")) install();
  const folder = newest();
  if (folder === undefined)
    return { reason: `there is no PostgreSQL in ${DEBIAN}, and only make test-all as root on Debian installs it` };
  if (!isRoot) return { folder, user: undefined };
  const idOf = (which: string) => Number(spawnSync("id", [which, "postgres"], { encoding: "utf8" }).stdout);
  const user = { uid: idOf("-u"), gid: idOf("-g") };
  return user.uid > 0 ? { folder, user } : { reason: "there is no user postgres, and root may not run PostgreSQL" };
}

function newest(): string | undefined {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).map(Number).filter(Number.isFinite) : [];
  return versions
    .toSorted((a, b) => b - a)
    .map((version) => join(DEBIAN, String(version), "bin"))
    .find((folder) => existsSync(join(folder, "postgres")) && existsSync(join(folder, "initdb")));
}

function install(): void {
  process.stderr.write("Installing postgresql ...\n");
  const folder = "/etc/postgresql-common";
  // The package would make and start a cluster of the machine's.
  if (!existsSync(`${folder}/createcluster.conf`)) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(`${folder}/createcluster.conf`, "create_main_cluster = false\n");
  }
  const command = "apt-get install --yes --no-install-recommends postgresql";
  spawnSync("sh", ["-c", `${command} || { apt-get update && ${command}; }`], {
    stdio: "ignore",
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
  });
}
