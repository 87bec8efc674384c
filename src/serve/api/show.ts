import type { Report } from "../../output/report.ts";
import type { Key } from "../http/keys.ts";
import { jsonAnswer } from "./json-answer.ts";
import { type ApiParts, type ApiRequest, ownExecution } from "./parts.ts";

/** `GET /v1/executions/:id`. */
export async function show(parts: ApiParts, { key, id }: ApiRequest<unknown, unknown>): Promise<Response> {
  return jsonAnswer(parts, key, await statusAnswer(parts, key, await ownExecution(parts, key, id)));
}

/** What the journal tells of an execution, as it is answered. `id` is that of the journal. */
export async function statusAnswer({ runtime, ids }: ApiParts, { tenant }: Key, id: string) {
  const { listed, report, conversation } = await runtime.status(id, { tenant });
  const { kind, state, startedAt, records, waitsFor } = listed;
  const about = { execution: ids.shown(tenant, id), kind, state, startedAt, records, waitsFor };
  if (report) return { ...about, ...bodyOf(report) };
  return conversation ? { ...about, conversation } : about;
}

/** A report as it is answered. */
export function reportAnswer({ ids }: ApiParts, { tenant }: Key, report: Report) {
  const state = report.outcome.type === "waiting" ? "waiting" : "ended";
  return { execution: ids.shown(tenant, report.execution), kind: "program", state, ...bodyOf(report) };
}

/** Without `value`, which is in the outcome too, without what is for the operator, and with artifacts as they are listed. */
function bodyOf({ outcome: ending, output, usage, calls, logs, artifacts, notes, remarks }: Report) {
  const outcome = ending.type === "crashed" ? { type: ending.type, code: ending.code } : ending;
  const kept = artifacts.map(({ name, bytes, shape }) => ({ name, bytes, shape }));
  return { outcome, output, usage, calls, logs, artifacts: kept, notes, remarks };
}
