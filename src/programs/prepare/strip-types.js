// @ts-check
/*
 * Replaces the types in TypeScript by spaces, on a thread of its own: how long that takes grows with each guess of the
 * parser's within another, and only the end of its thread ends it. It is plain JavaScript, run as it lies here.
 *
 *   host:   TEXT
 *   thread: { code } or { error }, what the stripper threw
 *
 * Its first message says that the stripper is loaded.
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
