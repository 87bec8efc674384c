import { Worker } from "node:worker_threads";
import { after, cancel } from "../../clock.ts";
import { loadPackage, PortcullisError } from "../../errors.ts";

/** Longest time for a document, in milliseconds. The largest public documents in YAML take a third of it. */
const CONVERT_MS = 60_000;
/** Memory of the thread, in MiB. */
const MAX_MEGABYTES = 2048;

export type Conversion = { readonly yaml: string } | { readonly swagger: object };

/** A converted document, or why it could not be converted, in words. */
export type Converted = { readonly value: unknown } | { readonly error: string };

const THREAD = new URL("./conversion-thread.js", import.meta.url);

/**
 * Reads YAML, or makes OpenAPI 3.1 of Swagger 2.0, off the host's thread. Rejects with `source_unavailable` if the
 * library is missing or the thread cannot be started: neither says anything of the document.
 */
export async function convertDocument(conversion: Conversion, thread = THREAD): Promise<Converted> {
  const missing =
    "fromOpenApi needs the package @scalar/openapi-parser to read YAML and Swagger 2.0: npm install @scalar/openapi-parser.";
  await loadPackage("source_unavailable", missing, () => import("@scalar/openapi-parser"));
  const worker = new Worker(thread, {
    workerData: conversion,
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: MAX_MEGABYTES },
  });
  const { promise, resolve, reject } = Promise.withResolvers<Converted>();
  let isReady = false;
  const failed = (why: string, cause?: Error) => {
    if (isReady) resolve({ error: why });
    else reject(notStarted(why, cause));
  };
  const timer = after(CONVERT_MS, () =>
    failed(`it takes more than ${CONVERT_MS / 1000} s to read; write it as JSON of OpenAPI 3`),
  );
  worker.on("message", (message: "ready" | Converted) => {
    if (message === "ready") isReady = true;
    else resolve(message);
  });
  worker.once("error", (error: Error) => failed(error.message, error));
  worker.once("exit", () => failed("its thread ended without an answer"));
  try {
    return await promise;
  } finally {
    cancel(timer);
    void worker.terminate();
  }
}

function notStarted(why: string, cause: Error | undefined): PortcullisError {
  return new PortcullisError(
    "source_unavailable",
    `fromOpenApi cannot start its reader of YAML and Swagger 2.0: ${why.split("\n", 1)[0]!.replace(/\.$/, "")}. ` +
      "The document was not read. Install portcullis and @scalar/openapi-parser again, or give the document as JSON of OpenAPI 3.",
    { cause },
  );
}
