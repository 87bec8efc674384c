// @ts-check
/*
 * Reads YAML, and makes OpenAPI 3.1 of Swagger 2.0, on a separate thread. The library compares each key of a map with all
 * others, so a hostile document takes minutes, and only terminating the thread stops that. This file is plain JavaScript,
 * because it is run without a build.
 *
 *   workerData: { yaml: TEXT } or { swagger: DOCUMENT }
 *   thread:     "ready" once the library is loaded, then { value } or { error: the reason in words }
 */
import { parentPort, workerData } from "node:worker_threads";
import { normalize, upgrade } from "@scalar/openapi-parser";

// What fails before this is the package's fault, and what fails after it the document's.
parentPort?.postMessage("ready", []);

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
  // A value that contains itself, or is nested too deeply, cannot be sent.
  parentPort?.postMessage({ error: error instanceof Error ? error.message : "" }, []);
}
