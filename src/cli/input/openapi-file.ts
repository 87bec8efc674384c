import { basename, dirname, resolve } from "node:path";
import {
  checkOptions,
  errorAt,
  fieldsOf,
  flag,
  object,
  option,
  type OptionPlace,
  PortcullisError,
  required,
  secret,
  words,
} from "../../base/index.ts";
import { expandWithin } from "../../sources/mcp/config/expand-variables.ts";
import {
  fromOpenApi,
  type OpenApiOptions,
  type OpenApiPolicy,
  type OpenApiSource,
} from "../../sources/openapi/from-openapi.ts";
import { invalid, readFileText, readJsonFile } from "../../sources/json-file.ts";
import { policiesIn } from "../../sources/file-policies.ts";

export const OPENAPI_FILE_RULES = {
  /** What the names of its tools begin with: `github` for `github.issues.listForRepo`. */
  name: required(words("a name of letters, digits and _")),
  /** Path of the document, from the folder of this file. */
  spec: required(words("the path of an OpenAPI document, from the folder of this file")),
  /** The address before the document's paths. Servers that the document names are not used. */
  baseUrl: secret(required(words("the address of the API, like https://api.example.com/v1"))),
  /** How requests say who sends them, as `fromOpenApi` takes it. `${VAR}` stands for a variable of the environment. */
  auth: secret(object<object>("an object with bearer, basic or apiKey")),
  /** Headers of every request, besides. `${VAR}` stands for a variable of the environment. */
  headers: secret(object<object>("an object of headers")),
  /** Whether a result that does not fit the document's schema fails its call; true by default. */
  checkResults: flag(),
  /** Who may call its tools, and what they change. */
  portcullis: object<object>("an object with the policy of its tools"),
  /** For editors; it is not read. */
  $schema: option<string>("text", (value) => typeof value === "string"),
};

/**
 * The source that a JSON file describes: `{ name, spec, baseUrl, auth?, headers?, checkResults?, portcullis? }`. `spec`
 * is the path of its document. `${VAR}` in a text stands for a variable of the environment. Who may call its tools
 * stands under `portcullis`; if that says nothing, `policies` is asked. Rejects with a `PortcullisError` that names the
 * file and the place.
 */
export async function readOpenApiFile(
  path: string,
  policies: (name: string) => OpenApiPolicy | undefined,
): Promise<OpenApiSource> {
  const place: OptionPlace = { object: path, subject: path, at: (name) => `${path}: ${name}` };
  const file = await readJsonFile(path);
  if (typeof file === "object" && file !== null && ("openapi" in file || "swagger" in file))
    throw new PortcullisError(
      "option_invalid",
      `${path}: this is the document itself. Write a file beside it that names it, and the address of the API, and give that one: ${JSON.stringify({ name: "api", spec: basename(path), baseUrl: "https://api.example.com/v1" })}`,
    );
  const { portcullis = {}, $schema: _, spec, ...given } = checkOptions(place, file, OPENAPI_FILE_RULES);
  const variables = { env: process.env, folder: dirname(resolve(path)) };
  const expanded = Object.entries(given).map(([name, one]) => [name, expandWithin(place.at(name), one, variables)]);
  const options = Object.fromEntries(expanded) as Omit<OpenApiOptions, "spec">;
  const inside = `${options.name}.`;
  const filePolicies = policiesIn(
    {
      place: fieldsOf(`${path}: portcullis`),
      source: options.name,
      // The name is also accepted without the source's name in front.
      namesOf: (name) => (name.startsWith(inside) ? [name.slice(inside.length), name] : [name]),
      needsEffect: false,
    },
    portcullis,
  );
  const document = await readDocumentFile(place.at("spec"), resolve(dirname(path), spec), spec);
  const policyOf = (name: string) => filePolicies.of(name, () => policies(name));
  const source = await fromOpenApi({ ...options, spec: document }, policyOf).catch((error: unknown) => {
    // Errors about options name the function that a host calls; here they are fields of a file.
    throw errorAt(path, error);
  });
  filePolicies.refuseUnmatched(source.names);
  return source;
}

/** Largest document, in bytes. `fromOpenApi` itself refuses a text that is too long for it. */
const DOCUMENT_BYTES = 256 * 1024 * 1024;

function readDocumentFile(place: string, path: string, written: string): Promise<string> {
  if (/^https?:/i.test(written)) throw invalid(place, "it is an address: save the document in a file, and name that");
  return readFileText(place, path, DOCUMENT_BYTES);
}
