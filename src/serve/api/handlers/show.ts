import { addAbortListener } from "node:events";
import { cleanText, type ExecutionId, now, type SchemaType } from "../../../base/index.ts";
import { clientEnding, startedBy } from "../../../conversations/index.ts";
import type { CallLine } from "../../../gate/call-line.ts";
import type { Header } from "../../../journal/record.ts";
import type { z } from "zod";
import type { REPORT, Report, REPORT_ARTIFACT } from "../../../executions/output/index.ts";
import type { REPORT_ANSWER, STATUS } from "../answers.ts";
import type { STATUS_QUERY } from "../bodies.ts";
import { jsonAnswer } from "../json-answer.ts";
import { type ApiRequest, faultOfAnother, ownReadable, refuseRevoked } from "../parts.ts";

type ShowRequest = ApiRequest<unknown, z.output<typeof STATUS_QUERY>>;

/** `GET /v1/executions/:id`. With `?wait=SECONDS` it is answered once the execution has ended or waits, or the time is over. */
export async function show(request: ShowRequest): Promise<Response> {
  const { inTurn, query } = request;
  const readable = () => ownReadable(request);
  if (query.wait > 0) await untilAtRest(request, await inTurn(readable), now() + query.wait * 1000);
  return inTurn(async () => {
    refuseRevoked(request);
    return statusAnswer(request, await readable());
  });
}

/** Resolves once an execution does not run any more, the time is over, the client is gone or the server closes. It holds no place among those that read. */
async function untilAtRest(
  { runtime, watch, inTurn, handleOf, closing, signal }: ApiRequest,
  id: ExecutionId,
  until: number,
): Promise<void> {
  using watching = watch.watch(id);
  const over = AbortSignal.any([signal, closing]);
  using _ = addAbortListener(over, () => watching.wake());
  for (;;) {
    const { listed } = await inTurn(() => handleOf(id).status());
    const remaining = until - now();
    if (listed.state !== "running" || remaining <= 0 || over.aborted) return;
    const { records } = await runtime.journal.find(id);
    await watching.wait(new Map([[id, records]]), remaining);
  }
}

/** The answer of what the journal tells of an execution. `id` is the journal's id. */
export async function statusAnswer(request: ApiRequest, id: string): Promise<Response> {
  return jsonAnswer(request.key, await statusOf(request, id));
}

async function statusOf(request: ApiRequest, id: string): Promise<SchemaType<typeof STATUS>> {
  const { handleOf, ids, key } = request;
  const { listed, report, conversation } = await handleOf(id).status();
  const { outcome: _, ...about } = ids.shownIn(key.tenant, listed);
  if (report) return { ...about, ...(await bodyOf(request, report)) };
  if (!conversation) return about;
  const { ending, artifacts, ...rest } = conversation;
  const calls = await readableCalls(request, id, rest.calls);
  const details = { artifacts: artifacts.map(artifactLine), ending: ending && clientEnding(ending) };
  return { ...about, conversation: { ...rest, calls, ...details } };
}

export async function reportAnswer(request: ApiRequest, report: Report): Promise<SchemaType<typeof REPORT_ANSWER>> {
  const state = report.outcome.type === "waiting" ? "waiting" : "ended";
  const execution = request.ids.shown(request.key.tenant, report.execution);
  return { execution, kind: "program", state, ...(await bodyOf(request, report)) };
}

/** A report without `value`, which is in the outcome too, and without what is for the operator; with artifacts as they are listed. */
async function bodyOf(request: ApiRequest, whole: Report): Promise<SchemaType<typeof REPORT>> {
  const { execution, value: _, outcome, artifacts, ...report } = whole;
  const calls = await readableCalls(request, execution, report.calls);
  return { ...report, calls, outcome: clientEnding(outcome), artifacts: artifacts.map(artifactLine) };
}

/** The calls of a report, without those of agents whose conversations the key may not read. */
async function readableCalls(
  { runtime: { journal }, ids, key }: ApiRequest,
  execution: ExecutionId,
  calls: readonly CallLine[],
): Promise<CallLine[]> {
  const above = ({ callId }: CallLine) => callId.slice(0, callId.lastIndexOf("/") + 1);
  const hidden = new Set<string>();
  for (const path of new Set(calls.map(above))) {
    let at: Pick<Header, "execution" | "tenant"> = { execution, tenant: key.tenant };
    for (const call of path.split("/").slice(0, -1)) {
      const started = await startedBy(journal, at, call);
      if (!started || faultOfAnother(key, started) !== undefined) hidden.add(path);
      at = started ?? at;
    }
  }
  const visibleCalls = calls.filter((call) => !hidden.has(above(call)));
  return visibleCalls.map((call) => ids.shownIn(key.tenant, call));
}

function artifactLine({ name, bytes, shape }: SchemaType<typeof REPORT_ARTIFACT>): SchemaType<typeof REPORT_ARTIFACT> {
  return { name, bytes, shape: cleanText(shape) };
}
