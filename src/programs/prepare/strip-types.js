// @ts-check
/*
 * Removes TypeScript from a program, on a separate thread: the parser backtracks, which can take exponential time, and
 * only terminating its thread stops it. This file is plain JavaScript, because it is run without a build.
 *
 *   host:   TEXT
 *   thread: { code } where types became spaces; { code, map } where the program was written anew, with its source map;
 *           or { error } with the fields of the stripper's error
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
    const refused = fieldsOf(error);
    return refused.error.code === "UnsupportedSyntax" ? transform(text) : refused;
  }
}

/** For what cannot be erased: enums, parameter properties, namespaces, `<T>x`. @param {string} text */
function transform(text) {
  try {
    const { code, map } = amaro.transformSync(text, { mode: "transform", sourceMap: true });
    return { code, map };
  } catch (error) {
    return fieldsOf(error);
  }
}

/** @param {unknown} error */
function fieldsOf(error) {
  const { code, message, startLine, startColumn } = /** @type {Record<string, unknown>} */ (error);
  return { error: { code, message, startLine, startColumn } };
}

parentPort?.on("message", (text) => parentPort?.postMessage(strip(text), []));
parentPort?.postMessage("ready", []);
