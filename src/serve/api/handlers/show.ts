import { cleanText, type ExecutionId, now, type SchemaType } from "../../../base/index.ts";
import { clientEnding } from "../../../conversations/index.ts";
import type { z } from "zod";
import type { REPORT, Report, REPORT_ARTIFACT } from "../../../executions/output/index.ts";
import { withShownFrom } from "../../tenant-ids.ts";
import type { Key } from "../../http/keys.ts";
import type { REPORT_ANSWER, STATUS } from "../answers.ts";
import type { STATUS_QUERY } from "../bodies.ts";
import { jsonAnswer } from "../json-answer.ts";
import { type ApiParts, type ApiRequest, ownReadable, refuseRevoked } from "../parts.ts";

type ShowRequest = ApiRequest<unknown, z.output<typeof STATUS_QUERY>>;

/** `GET /v1/executions/:id`. With `?wait=SECONDS` it is answered once the execution has ended or waits, or the time is over. */
export async function show(parts: ApiParts, { key, id, query: { wait }, signal }: ShowRequest): Promise<Response> {
  const inTurn = <Value>(read: () => Promise<Value>) => parts.readings.run(key.id, signal, read);
  const readable = () => ownReadable(parts, key, id);
  if (wait > 0) await untilAtRest(parts, key, await inTurn(readable), now() + wait * 1000, signal);
  return inTurn(async () => {
    refuseRevoked(parts, key);
    return jsonAnswer(key, await statusAnswer(parts, key, await readable()));
  });
}

/** Resolves once an execution does not run any more, the time is over, the client is gone or the server closes. It holds no place among those that read. */
async function untilAtRest(
  { runtime, watch, readings, closing }: ApiParts,
  { tenant, id: key }: Key,
  id: ExecutionId,
  until: number,
  signal: AbortSignal,
): Promise<void> {
  using watching = watch.watch(id);
  const wake = () => watching.wake();
  const over = AbortSignal.any([signal, closing]);
  over.addEventListener("abort", wake, { once: true });
  try {
    for (;;) {
      const { listed } = await readings.run(key, signal, () => runtime.status(id, { tenant }));
      const left = until - now();
      if (listed.state !== "running" || left <= 0 || over.aborted) return;
      const { records } = await runtime.journal.find(id);
      await watching.wait(new Map([[id, records]]), left);
    }
  } finally {
    over.removeEventListener("abort", wake);
  }
}

/** What the journal tells of an execution, as it is answered. `id` is the journal's id. */
export async function statusAnswer(
  { runtime, ids }: ApiParts,
  key: Key,
  id: string,
): Promise<SchemaType<typeof STATUS>> {
  const { listed, report, conversation } = await runtime.status(id, { tenant: key.tenant });
  const { outcome: _, ...about } = ids.shownIn(key.tenant, listed);
  if (report) return { ...about, ...bodyOf(report, (one) => ids.shown(key.tenant, one)) };
  if (!conversation) return about;
  const { ending, artifacts, ...rest } = conversation;
  const told = { ...rest, artifacts: artifacts.map(artifactLine), ...(ending && { ending: clientEnding(ending) }) };
  return { ...about, conversation: told };
}

export function reportAnswer({ ids }: ApiParts, { tenant }: Key, report: Report): SchemaType<typeof REPORT_ANSWER> {
  const state = report.outcome.type === "waiting" ? "waiting" : "ended";
  const shown = (one: string) => ids.shown(tenant, one);
  return { execution: shown(report.execution), kind: "program", state, ...bodyOf(report, shown) };
}

/** A report without `value`, which is in the outcome too, and without what is for the operator; with artifacts as they are listed. */
function bodyOf(whole: Report, shown: (id: string) => string): SchemaType<typeof REPORT> {
  const { execution: _execution, value: _value, outcome, artifacts, ...report } = whole;
  const calls = report.calls.map((call) => withShownFrom(call, shown));
  return { ...report, calls, outcome: clientEnding(outcome), artifacts: artifacts.map(artifactLine) };
}

function artifactLine({ name, bytes, shape }: SchemaType<typeof REPORT_ARTIFACT>): SchemaType<typeof REPORT_ARTIFACT> {
  return { name, bytes, shape: cleanText(shape) };
}
