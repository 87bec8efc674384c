import {
  flag,
  httpUrl,
  isFields,
  option,
  type OptionsOf,
  Pace,
  PortcullisError,
  readOptions,
  required,
  secret,
  textOf,
  withDefault,
  words,
} from "../../base/index.ts";
import { defineTool, runsAt } from "../../tools/define-tool.ts";
import { commentLine } from "../../tools/declarations/one-line.ts";
import type { Effect, Tool } from "../../tools/tool.ts";
import { toolNameFault } from "../../tools/tool-name.ts";
import {
  otherServerProblem,
  omissionText as leftOutPart,
  nameClashes,
  problemText,
  uncheckedPart,
} from "../name-clashes.ts";
import { givingText } from "../../tools/text-results.ts";
import { checkPolicy, sourceContext, type ToolPolicy, withResult } from "../tool-policy.ts";
import { type OpenApiDocument, orFault, PartFault, readDocument } from "./document.ts";
import {
  findOperations,
  type FoundOperation,
  MAX_OPERATIONS,
  type Operation,
  type OperationParts,
  type Parameter,
  readOperation,
  serversOf,
} from "./operations.ts";
import { checkPath, loadStyles, pathParts, requestParts } from "./request.ts";
import { Schemas } from "./schemas.ts";
import { isHeaderName } from "../request-text.ts";
import { isSecret, type OpenApiAuth, readAuthorization, type Secret } from "./secrets.ts";
import { sourceName, placesForLarge, send, type Sender } from "./send.ts";
import { programParameters, isFlat, type Layout, toolInput } from "./tool-input.ts";
import { toolOutput } from "./tool-output.ts";

export const SOURCE_RULES = {
  /** What the names of its tools begin with: `github` for `github.issues.listForRepo`. */
  name: required(words("a name of letters, digits and _")),
  /** The document: its text, JSON or YAML, or the object parsed from it, which must not be changed afterwards. */
  spec: required(option<string | object>("a document, as text or as an object", isDocument)),
  /** The address before the document's paths. Servers that the document names are not used. */
  baseUrl: secret(
    required(
      option<string>(
        "an address like https://api.example.com/v1, without a user, a query or a fragment",
        (value) => typeof value === "string" && isBaseUrl(httpUrl(value)),
      ),
    ),
  ),
  /** How requests say who sends them; nothing by default. */
  auth: secret(option<OpenApiAuth>("credentials", () => true)),
  /**
   * Headers of every request, besides. The value is a secret if a function gives it, or if the header's name has `token`, `key`,
   * `secret`, `password`, `auth`, `cookie` or `session` in it.
   */
  headers: secret(
    option<Readonly<Record<string, Secret>>>(
      "an object of headers: texts without line breaks, or functions that return them",
      (headers) =>
        isFields(headers) && Object.entries(headers).every(([name, value]) => isHeaderName(name) && isSecret(value)),
    ),
  ),
  /** Whether a result that does not fit the document's schema fails its call; true by default. The schema is shown all the same. */
  checkResults: withDefault(flag(), true),
};

export type OpenApiOptions = OptionsOf<typeof SOURCE_RULES>;

/** A policy. By default `effect` follows from the method: GET and HEAD read, PUT and DELETE are idempotent, others write. */
export type OpenApiPolicy = Omit<ToolPolicy, "effect"> & Partial<Pick<ToolPolicy, "effect">>;

/**
 * One policy for all operations, or a function from the name of an operation's tool and what the document says of it.
 * An operation without a policy is left to no caller, and is among the unassigned operations unless the function gives
 * false.
 */
export type OpenApiPolicies =
  | OpenApiPolicy
  | ((name: string, operation: Operation) => OpenApiPolicy | false | undefined);

/** An operation that no caller may call, because nothing was said about it. */
export interface UnassignedOperation extends Operation {
  /** The name that its tool would have in a program. */
  readonly name: string;
}

/** The tools of an API. It holds no connection: disposing of it does nothing, and lets hosts treat all sources alike. */
export interface OpenApiSource extends AsyncDisposable {
  readonly name: string;
  readonly tools: readonly Tool[];
  /** Names for the tools of all operations, whether they became tools or not. */
  readonly names: readonly string[];
  /** Number of the operations that are no tools although a policy was given for them. */
  readonly leftOut: number;
  /** Operations that no policy was given for. */
  readonly unassigned: readonly UnassignedOperation[];
  /** Operations that are no tools although a policy was given for them, what of values is not checked, and why: a sentence each. */
  readonly problems: readonly string[];
}

const DESCRIPTION_LENGTH = 2000;

export async function fromOpenApi(options: OpenApiOptions, policies?: OpenApiPolicies): Promise<OpenApiSource> {
  const { name, spec, baseUrl, auth, headers = {}, checkResults } = readOptions("fromOpenApi", options, SOURCE_RULES);
  const fault = toolNameFault(name);
  if (fault !== undefined) throw new PortcullisError("option_invalid", `fromOpenApi({ name }): ${fault}.`);
  const sender: Sender = {
    source: name,
    baseUrl: new URL(baseUrl),
    authorization: readAuthorization(auth),
    headers,
    large: placesForLarge(),
  };
  await loadStyles();
  const document = await readDocument(name, spec);
  const { operations, unread } = await findOperations(document, name);
  const unreadPaths = unread.map(({ path, fault }) => leftOutPart(`the path ${path}`, fault.message));
  if (operations.length === 0 || operations.length > MAX_OPERATIONS)
    throw new PortcullisError(
      "source_invalid",
      `fromOpenApi({ name: ${JSON.stringify(name)}, spec }): the document describes ${operations.length === 0 ? ["no operations.", ...unreadPaths.slice(0, 1)].join(" ") : `more than ${MAX_OPERATIONS} operations. Take those out that are not needed.`}`,
    );
  const schemas = { input: new Schemas(document, "input"), output: new Schemas(document, "output") };
  const { tools, names, leftOut, unassigned, problems } = await makeTools(
    { sender, document, schemas, checkResults },
    operations,
    policies,
  );
  return Object.freeze({
    name,
    tools: Object.freeze(tools),
    names: Object.freeze(names),
    leftOut,
    unassigned: Object.freeze(unassigned),
    problems: Object.freeze([...unreadPaths, ...problems]),
    [Symbol.asyncDispose]: async () => {},
  });
}

interface ToolMaker {
  readonly sender: Sender;
  readonly document: OpenApiDocument;
  readonly schemas: { readonly input: Schemas; readonly output: Schemas };
  readonly checkResults: boolean;
}

function isDocument(value: unknown): boolean {
  return typeof value === "string" || (typeof value === "object" && value !== null);
}

function isBaseUrl(url: URL | undefined): boolean {
  return url !== undefined && [url.username, url.password, url.search, url.hash].every((part) => part === "");
}

interface Named {
  readonly operation: FoundOperation;
  /** Of one with a policy. */
  readonly parts?: OperationParts | PartFault;
  readonly name: string;
  readonly policy: ToolPolicy | false | undefined;
}

/** Makes the tools of a source. Releases the thread between slices: a document may be written to take long. */
async function makeTools(maker: ToolMaker, found: readonly FoundOperation[], policies: OpenApiPolicies | undefined) {
  const { sender, document, schemas } = maker;
  const { source } = sender;
  const pace = new Pace();
  const named: Named[] = [];
  let layout: Layout = "flat";
  for (const operation of found) {
    await pace.rest();
    const parts = orFault(() => readOperation(document, operation));
    if (!(parts instanceof PartFault) && !isFlat(document, parts)) layout = "nested";
    const one = nameOf(source, operation, policies);
    named.push(one.policy ? { ...one, parts } : one);
  }
  const clashing = nameClashes(named.filter(({ policy }) => policy));
  const problems: string[] = [];
  let leftOut = 0;
  const tools: Tool[] = [];
  const unassigned: UnassignedOperation[] = [];
  const addresses = new Set([...serversOf(document.root), sender.baseUrl.href].map(bareAddress));
  const away: { readonly server: string; readonly name: string }[] = [];
  for (const one of named) {
    await pace.rest();
    const { name, operation, policy } = one;
    if (policy === undefined) unassigned.push({ name, ...toldOf(operation) });
    if (!policy) continue;
    const rival = clashing.get(one);
    const tool = rival ? clash(rival) : orFault(() => defineOperation(maker, one as Required<Named>, policy, layout));
    const odd = Object.values(schemas).flatMap((side) => side.takeOdd());
    if (tool instanceof PartFault) {
      leftOut += 1;
      problems.push(leftOutPart(`${name} (${operation.method} ${operation.path})`, tool.message));
      continue;
    }
    tools.push(tool);
    const [server] = operation.servers;
    if (server !== undefined && !operation.servers.some((other) => addresses.has(bareAddress(other))))
      away.push({ server, name });
    const { body } = one.parts as OperationParts;
    if (body && body.lostFiles.length > 0)
      problems.push(
        problemText(`${name} is sent as ${body.mediaType}, without files of its form: ${body.lostFiles.join(", ")}`),
      );
    if (odd.length > 0) problems.push(uncheckedPart(name, odd));
  }
  for (const [server, moved] of Map.groupBy(away, (one) => one.server))
    problems.push(otherServerProblem(server, moved));
  for (const why of new Set([...schemas.input.unchecked, ...schemas.output.unchecked]))
    problems.push(uncheckedPart(source, [why]));
  return { tools, names: named.map(({ name }) => name), leftOut, unassigned, problems };
}

function nameOf(source: string, operation: FoundOperation, policies: OpenApiPolicies | undefined): Named {
  const name = `${source}.${operation.name}`;
  const rawPolicy = typeof policies === "function" ? policies(name, toldOf(operation)) : policies;
  if (rawPolicy === undefined || rawPolicy === false) return { operation, policy: rawPolicy, name };
  const isObject = isFields(rawPolicy) && !((rawPolicy as object) instanceof Promise);
  const whole = isObject ? { ...rawPolicy, effect: rawPolicy.effect ?? effectOf(operation.method) } : rawPolicy;
  const policy = checkPolicy(name, whole);
  return { operation, policy, name: policy.name === undefined ? name : `${source}.${policy.name}` };
}

function defineOperation(
  { sender, document, schemas, checkResults }: ToolMaker,
  { operation, parts, name }: Required<Named>,
  policy: ToolPolicy,
  layout: Layout,
): Tool {
  const fault = toolNameFault(name);
  if (fault !== undefined) throw new PartFault(`its name cannot be that of a tool: ${fault}`);
  if (parts instanceof PartFault) throw parts;
  const { method } = operation;
  const template = { path: pathParts(parts.address.path), query: pathParts(parts.address.query) };
  checkPath(sender.baseUrl, template.path);
  const parameters = programParameters(parts.parameters, (parameter) => isHosts(sender, parameter));
  const input = toolInput(schemas.input, parameters, parts.body, layout);
  const { schema: output, accept, asPart } = toolOutput(schemas.output, parts.responses, method, checkResults);
  const contentType = parts.body?.form === "multipart" ? undefined : parts.body?.mediaType;
  const call = { method, accept, contentType, asPart };
  const run = givingText((fields, context) =>
    send(
      sender,
      {
        ...requestParts(template, input, fields as Readonly<Record<string, unknown>>),
        ...call,
        effect: context.effect,
        timeoutMs: tool.timeoutMs,
      },
      sourceContext(policy, context),
    ),
  );
  const tool: Tool = defineTool({
    ...withResult(policy, output, run),
    source: sender.source,
    name,
    description: document.once(operation.part, readDescription) ?? `${method} ${operation.path}`,
    inputSchema: input.schema,
  });
  return runsAt(sourceName(sender), tool);
}

function isHosts({ authorization, headers }: Sender, { name, place }: Parameter): boolean {
  const { where, name: own } = authorization;
  if (place !== "header") return place === where && name === own;
  const held = [...(where === "header" ? [own] : []), ...Object.keys(headers)];
  return held.some((one) => one.toLowerCase() === name.toLowerCase());
}

function bareAddress(address: string): string {
  return address.replace(/\/$/, "");
}

export function effectOf(method: string): Effect {
  if (method === "GET" || method === "HEAD") return "read";
  return method === "PUT" || method === "DELETE" ? "idempotent" : "write";
}

function readDescription(_: OpenApiDocument, part: unknown): string | undefined {
  const texts = [textOf(part, "summary"), textOf(part, "description")].filter((text) => text?.trim());
  const [summary = "", description = ""] = texts as string[];
  const whole = description.startsWith(summary) ? description : `${summary.trim().replace(/\.$/, "")}. ${description}`;
  return texts.length === 0 ? undefined : commentLine(whole, DESCRIPTION_LENGTH);
}

function clash({ operation: { method, path } }: Named): PartFault {
  return new PartFault(`its name clashes with that of ${method} ${path}; give one of them a name in its policy`);
}

function toldOf({ operationId, method, path, tags }: FoundOperation): Operation {
  return { operationId, method, path, tags };
}
