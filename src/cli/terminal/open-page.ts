import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { after, cancel } from "../../clock.ts";
import { causeOf } from "../failure.ts";
import { writeStderr } from "./standard-streams.ts";

const OPENERS: Partial<Record<NodeJS.Platform, readonly string[]>> = {
  darwin: ["open"],
  win32: ["cmd", "/c", "start", ""],
};

/** How long a browser has to read the file that leads it to a page, in milliseconds. */
const FILE_MS = 60_000;

/**
 * Opens a page in the user's browser, or says that no browser can be started. `option` names what asked for it. Every
 * user of the machine can read a browser's arguments. So an address with a token behind `#` is written to a file that
 * only its owner can read, and the browser gets the file. It is deleted after a minute, or when the returned object is
 * disposed of.
 */
export function openPage(address: string, option: string): Disposable {
  const failed = (error: unknown) =>
    writeStderr(`portcullis: ${option}: no browser could be started (${causeOf(error)}). Open the address by hand.\n`);
  let file: string | undefined;
  try {
    file = address.includes("#") ? fileTo(address) : undefined;
    const [command = "xdg-open", ...args] = OPENERS[process.platform] ?? ["xdg-open"];
    const opened = file === undefined ? address : pathToFileURL(file).href;
    const opener = spawn(command, [...args, opened], { stdio: "ignore", detached: true });
    opener.on("error", failed);
    opener.on("exit", (code) => {
      if (code) failed(new Error(`${command} ended with exit code ${code}`));
    });
    opener.unref();
  } catch (error) {
    failed(error);
  }
  const remove = () => {
    cancel(timer);
    if (file !== undefined) rmSync(file, { force: true });
  };
  const timer = after(FILE_MS, remove).unref();
  return { [Symbol.dispose]: remove };
}

function fileTo(address: string): string {
  // Browsers in a sandbox of their own (snap) see no temporary files, and no files whose names begin with a dot.
  const folder = process.platform === "linux" ? homedir() : tmpdir();
  const file = join(folder, `portcullis-${randomBytes(16).toString("hex")}.html`);
  const target = address.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");
  const html = `<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>Portcullis</title><meta http-equiv="refresh" content="0;url=${target}">\n`;
  writeFileSync(file, html, { flag: "wx", mode: 0o600 });
  return file;
}
