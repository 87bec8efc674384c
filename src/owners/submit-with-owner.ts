import { PortcullisError } from "../errors.ts";
import { readOptions } from "../option-rules/options.ts";
import type { ProgramHeader } from "../journal/record.ts";
import type { Tool } from "../tools/tool.ts";
import { ToolSet } from "../tools/tool-set.ts";
import { askOwner } from "./ask-owner.ts";
import { type Declared, DECLARED_LENGTH, declarationsText, readDeclarations, toolsOf } from "./declarations.ts";
import { KEY_LENGTH, sealKey } from "./execution-key.ts";
import { secretOf, ServedOwner } from "./owner.ts";
import { OWNER_ADDRESS_RULES, type Owner, type OwnerAddress } from "./owner-options.ts";
import { PATHS, readProblem, withoutSlash } from "./wire.ts";
import { sealForWorkers, workerKeyOf } from "./worker-key.ts";

/** Time for the owner to tell its tools, in milliseconds. */
const DECLARING_MS = 10_000;

export interface SubmittedFor {
  readonly execution: string;
  readonly tenant: string;
  /** Names of the tools that the program may use; all of the owner's without it. */
  readonly tools: readonly (Tool | string)[] | undefined;
  readonly signal: AbortSignal;
}

/** What a program is submitted with that has an owner. */
export interface WithOwner {
  readonly tools: ToolSet;
  readonly header: Required<Pick<ProgramHeader, "owner" | "ownerTools">>;
}

/**
 * The tools of an owner as its declarations make them, and what the header of an execution has of it. Rejects with
 * `owner_unavailable` if it is in another process and does not answer or does not take the secret, and with `option_invalid`.
 */
export async function submitWithOwner(
  owner: Owner | OwnerAddress,
  { execution, tenant, tools: wanted, signal }: SubmittedFor,
): Promise<WithOwner> {
  const { url, key, keyMs, declared } = await reached(owner, tenant, signal);
  const all = new ToolSet(toolsOf(declared, NOT_CALLED), "the owner's tools");
  const tools = wanted ? all.select(wanted, "submit({ tools })") : all;
  const names = wanted && tools.all.map(({ name }) => name);
  const use = { execution, tenant, ...(names && { tools: names }) };
  const own = sealKey(key, use, Date.now() + keyMs);
  if (own.length > KEY_LENGTH)
    throw new PortcullisError(
      "option_invalid",
      "submit({ owner, tools }): these are more tools than the key of an execution can name. Leave tools out, or name fewer.",
    );
  const chosen = declared.filter(({ name }) => tools.get(name));
  const sealedKey = sealForWorkers(workerKeyOf(key), own, { url, execution, tenant });
  return { tools, header: { owner: { url, sealedKey }, ownerTools: declarationsText(chosen) } };
}

interface Reached {
  readonly url: string;
  readonly key: string;
  readonly keyMs: number;
  readonly declared: readonly Declared[];
}

async function reached(owner: Owner | OwnerAddress, tenant: string, signal: AbortSignal): Promise<Reached> {
  if (owner instanceof ServedOwner) return { ...pick(owner), declared: owner.gate.declared(tenant) };
  const { url: given, key: secret, keyMs } = readOptions("submit({ owner })", owner, OWNER_ADDRESS_RULES);
  const url = withoutSlash(given);
  const key = secretOf("submit({ owner })", secret);
  const own = sealKey(key, { tenant }, Date.now() + 60_000);
  const unavailable = (why: string, cause?: unknown) =>
    new PortcullisError("owner_unavailable", `submit({ owner }): the owner ${url} ${why}`, { cause });
  const reply = await askOwner(url, {
    method: "GET",
    path: PATHS.tools,
    key: own,
    tenant,
    signal: AbortSignal.any([signal, AbortSignal.timeout(DECLARING_MS)]),
    resultBytes: 4 * DECLARED_LENGTH,
    resultValues: DECLARED_LENGTH,
  }).catch((error: unknown) => {
    signal.throwIfAborted();
    throw unavailable(
      `does not answer (${error instanceof Error ? error.message : String(error)}). Start it, or check its address.`,
      error,
    );
  });
  if (reply.status !== 200)
    throw unavailable(`answers: ${readProblem(reply.body)?.message ?? `status ${reply.status}`}`);
  return { url, key, keyMs, declared: readDeclarations(JSON.stringify(reply.body ?? null)) };
}

function pick({ url, key, keyMs }: ServedOwner) {
  return { url, key, keyMs };
}

/** The process that submits calls no tool. */
const NOT_CALLED = {
  moreMs: 0,
  call: () => Promise.reject(new Error("The process that submits makes no calls.")),
  needsApproval: () => Promise.reject(new Error("The process that submits makes no calls.")),
};
