import { Worker } from "node:worker_threads";
import { PortcullisError } from "../../errors.ts";

/** Longest time for one document, in milliseconds. The largest public ones in YAML take a third of it. */
const CONVERT_MS = 60_000;
/** Memory of the thread, in MiB. */
const MAX_MEGABYTES = 2048;

export type Conversion = { readonly yaml: string } | { readonly swagger: object };

/** What has become of a document; `error` is the reason in words where it could not be converted. */
export type Converted = { readonly value: unknown } | { readonly error: string };

/**
 * Reads YAML, or makes OpenAPI 3.1 of Swagger 2.0, off the host's thread. Rejects with `source_unavailable` where the library
 * is missing.
 */
export async function convertDocument(conversion: Conversion): Promise<Converted> {
  await requireLibrary();
  const thread = new Worker(new URL("./convert-document.js", import.meta.url), {
    workerData: conversion,
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: MAX_MEGABYTES },
  });
  const converted = Promise.withResolvers<Converted>();
  const timer = setTimeout(
    () =>
      converted.resolve({ error: `it takes more than ${CONVERT_MS / 1000} s to read; write it as JSON of OpenAPI 3` }),
    CONVERT_MS,
  );
  thread.once("message", converted.resolve);
  thread.once("error", ({ message }: Error) => converted.resolve({ error: message }));
  thread.once("exit", () => converted.resolve({ error: "its reader ended" }));
  try {
    return await converted.promise;
  } finally {
    clearTimeout(timer);
    void thread.terminate();
  }
}

async function requireLibrary(): Promise<void> {
  try {
    await import("@scalar/openapi-parser");
  } catch (cause) {
    throw new PortcullisError(
      "source_unavailable",
      "fromOpenApi needs the package @scalar/openapi-parser to read YAML and Swagger 2.0: npm install @scalar/openapi-parser.",
      { cause },
    );
  }
}
