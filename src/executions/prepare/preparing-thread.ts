import { JobThread } from "../../base/index.ts";
import type { Read } from "./thread/parsed-program.ts";
import type { Request } from "./thread/prepare-text.ts";

/** Prepares programs. An ordinary program of the maximum size takes 40 ms and 10 MiB. */
export const preparingThread = new JobThread<Request, Read>({
  entry: () => new URL("./thread/thread.js", import.meta.url),
  jobMs: () => 1000,
  heapMebibytes: 64,
  purpose: "reads programs",
});
