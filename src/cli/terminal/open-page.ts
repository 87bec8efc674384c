import { spawn } from "node:child_process";
import { causeOf } from "../failure.ts";

const OPENERS: Partial<Record<NodeJS.Platform, readonly string[]>> = {
  darwin: ["open"],
  win32: ["cmd", "/c", "start", ""],
};

/** Opens an address in the user's browser, and says so where none can be started. `option` names what asked for it. */
export function openPage(address: string, option: string): void {
  const [command = "xdg-open", ...args] = OPENERS[process.platform] ?? ["xdg-open"];
  const opener = spawn(command, [...args, address], { stdio: "ignore", detached: true });
  opener.on("error", (error) =>
    process.stderr.write(
      `portcullis: ${option}: no browser could be started (${causeOf(error)}). Open the address by hand.\n`,
    ),
  );
  opener.unref();
}
