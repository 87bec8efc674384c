import { loadPackage, PortcullisError } from "../../errors.ts";
import { JobThread } from "../../untrusted/job-thread.ts";

/** Longest processor time for a document, in milliseconds. The largest public documents in YAML take a third of it. */
const CONVERT_MS = 60_000;
/** Memory of the thread, in MiB. */
const MOST_MEBIBYTES = 2048;

type Conversion = { readonly yaml: string } | { readonly swagger: object };

/** A converted document, or why it could not be converted, in words. */
type Converted = { readonly value: unknown } | { readonly error: string };

const THREAD = new URL("./conversion-thread.js", import.meta.url);

/**
 * Reads YAML, or makes OpenAPI 3.1 of Swagger 2.0, off the host's thread. Rejects with `source_unavailable` if the
 * library is missing or the thread cannot be started: neither says anything of the document.
 */
export async function convertDocument(conversion: Conversion, entry = THREAD): Promise<Converted> {
  const missing =
    "fromOpenApi needs the package @scalar/openapi-parser to read YAML and Swagger 2.0: npm install @scalar/openapi-parser.";
  await loadPackage("source_unavailable", missing, () => import("@scalar/openapi-parser"));
  const thread = new JobThread<Conversion, Converted>({
    entry: () => entry,
    jobMs: () => CONVERT_MS,
    heapMebibytes: MOST_MEBIBYTES,
    purpose: "reads YAML and Swagger 2.0",
  });
  const converted = await thread.do(conversion, { tenant: "" }).catch((cause: PortcullisError) => {
    const advice = "The document was not read: it can be given as JSON of OpenAPI 3.";
    throw new PortcullisError("source_unavailable", `${cause.message} ${advice}`, { cause });
  });
  if (converted !== "given_up") return converted;
  return {
    error: `it takes more than ${CONVERT_MS / 1000} s, or too much memory, to read; write it as JSON of OpenAPI 3`,
  };
}
