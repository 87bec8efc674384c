// @ts-check
/*
 * The thread on which large texts are read. This file is plain JavaScript, so that one name is right before and after a build.
 *
 *   host:   { name: NAME OF A READER, asked: WHAT IT IS GIVEN }
 *   thread: "ready", then { read } for each, in their order
 */
import { parentPort } from "node:worker_threads";
import { READERS } from "../readers.ts";

parentPort?.on(
  "message",
  (/** @type {{ readonly name: keyof typeof READERS, readonly asked: readonly never[] }} */ { name, asked }) => {
    // What a reader throws ends the thread, and the host learns of it.
    parentPort?.postMessage({ read: /** @type {(...asked: never[]) => unknown} */ (READERS[name])(...asked) }, []);
  },
);
parentPort?.postMessage("ready", []);
