// @ts-check
/*
 * Reads YAML, and makes OpenAPI 3.1 of Swagger 2.0, on a separate thread: the library compares each key of a map with all
 * others, so a document that was written for it takes minutes, and only terminating its thread stops it. This file is plain
 * JavaScript, because it is run without a build.
 *
 *   workerData: { yaml: TEXT } or { swagger: DOCUMENT }
 *   thread:     { value } or { error: the reason in words }
 */
import { parentPort, workerData } from "node:worker_threads";
import { normalize, upgrade } from "@scalar/openapi-parser";

/** @param {{ readonly yaml?: string, readonly swagger?: object }} job */
function convert({ yaml, swagger }) {
  try {
    return { value: yaml === undefined ? upgrade(/** @type {never} */ (swagger)).specification : normalize(yaml) };
  } catch (error) {
    return { error: error instanceof Error ? error.message : "" };
  }
}

const converted = convert(/** @type {never} */ (workerData));
try {
  parentPort?.postMessage(converted, []);
} catch (error) {
  // What holds itself, or is nested too deeply, cannot be sent.
  parentPort?.postMessage({ error: error instanceof Error ? error.message : "" }, []);
}
