/* This package with a process for each program. */
import { open as openPortcullis } from "./portcullis.js";

export function open(options) {
  return openPortcullis(options, { reuseEngines: "never", warm: 8 });
}
