// @ts-check
/*
 * Replaces TypeScript types by spaces, on a separate thread: the parser backtracks, which can take exponential time, and
 * only terminating its thread stops it. This file is plain JavaScript, because it is run without a build.
 *
 *   host:   TEXT
 *   thread: { code }, or { error } with the fields of the stripper's error
 *
 * The thread's first message is "ready": the stripper is loaded.
 */
import { parentPort } from "node:worker_threads";
import amaro from "amaro";

/** @param {string} text */
function strip(text) {
  try {
    return { code: amaro.transformSync(text, { mode: "strip-only" }).code };
  } catch (error) {
    const { code, message, startLine, startColumn } = /** @type {Record<string, unknown>} */ (error);
    return { error: { code, message, startLine, startColumn } };
  }
}

parentPort?.on("message", (text) => parentPort?.postMessage(strip(text), []));
parentPort?.postMessage("ready", []);
