import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { needOwnFolder, OWN_FOLDER } from "./own-engine.ts";

const script = fileURLToPath(new URL("start-engine.ts", import.meta.url));

/**
 * Sees to it that the tests of this file find a Docker daemon that has the image, and returns why they must be skipped
 * where there can be none. Files run side by side: one of them does the work, the others wait for it.
 */
export function needDockerEngine(): string | undefined {
  needOwnFolder();
  const command = [process.execPath, "--conditions=portcullis-source", script];
  const locked =
    spawnSync("flock", ["--version"]).status === 0 ? ["flock", "--close", `${OWN_FOLDER}/lock`, ...command] : command;
  const { stdout } = spawnSync(locked[0] ?? "", locked.slice(1), {
    stdio: ["ignore", "pipe", "inherit"],
    encoding: "utf8",
  });
  const { address, reason } = JSON.parse(stdout.trim().split("\n").at(-1) ?? "{}") as {
    readonly address?: string;
    readonly reason?: string;
  };
  if (address !== undefined) process.env.DOCKER_HOST = address;
  else process.stdout.write(`Tests with containers are skipped: ${reason}.\n`);
  return reason;
}
