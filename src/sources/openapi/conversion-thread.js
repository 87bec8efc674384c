// @ts-check
/*
 * Reads YAML, and makes OpenAPI 3.1 of Swagger 2.0, on a separate thread. The library compares each key of a map with all
 * others, so a hostile document takes minutes, and only terminating the thread stops that. This file is plain JavaScript,
 * because it is run without a build.
 *
 *   host:   { yaml: TEXT } or { swagger: DOCUMENT }
 *   thread: "ready" once the library is loaded, then { read: { json } or { error: the reason in words } } and its end
 */
import { parentPort } from "node:worker_threads";
import { normalize, upgrade } from "@scalar/openapi-parser";

parentPort?.on("message", (/** @type {{ readonly yaml?: string, readonly swagger?: object }} */ { yaml, swagger }) => {
  /** @param {object} read */
  const answer = (read) => parentPort?.postMessage({ read, isSpent: true }, []);
  try {
    const value = yaml === undefined ? upgrade(/** @type {never} */ (swagger)).specification : normalize(yaml);
    answer({ json: JSON.stringify(value ?? null) });
  } catch (error) {
    // Also of a value that contains itself, or is nested too deeply to be written.
    answer({ error: error instanceof Error ? error.message : "" });
  }
});
parentPort?.postMessage("ready", []);
