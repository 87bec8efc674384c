import { clientEnding } from "../../../agent/ending-text.ts";
import { cleanText } from "../../../output/clean-text.ts";
import type { REPORT, REPORT_ARTIFACT } from "../../../output/report-shape.ts";
import type { Report } from "../../../output/report.ts";
import type { SchemaType } from "../../../values/schema-type.ts";
import type { Key } from "../../http/keys.ts";
import type { REPORT_ANSWER, STATUS } from "../answers.ts";
import { jsonAnswer } from "../json-answer.ts";
import { type ApiParts, type ApiRequest, ownExecution } from "../parts.ts";

/** `GET /v1/executions/:id`. */
export async function show(parts: ApiParts, { key, id }: ApiRequest<unknown, unknown>): Promise<Response> {
  return jsonAnswer(key, await statusAnswer(parts, key, await ownExecution(parts, key, id)));
}

/** What the journal tells of an execution, as it is answered. `id` is the journal's id. */
export async function statusAnswer(
  { runtime, ids }: ApiParts,
  key: Key,
  id: string,
): Promise<SchemaType<typeof STATUS>> {
  const { listed, report, conversation } = await runtime.status(id, { tenant: key.tenant });
  const { outcome: _, ...about } = ids.shownIn(key.tenant, listed);
  if (report) return { ...about, ...bodyOf(report) };
  if (!conversation) return about;
  const { ending, artifacts, ...rest } = conversation;
  const told = { ...rest, artifacts: artifacts.map(artifactLine), ...(ending && { ending: clientEnding(ending) }) };
  return { ...about, conversation: told };
}

export function reportAnswer({ ids }: ApiParts, { tenant }: Key, report: Report): SchemaType<typeof REPORT_ANSWER> {
  const state = report.outcome.type === "waiting" ? "waiting" : "ended";
  return { execution: ids.shown(tenant, report.execution), kind: "program", state, ...bodyOf(report) };
}

/** A report without `value`, which is in the outcome too, and without what is for the operator; with artifacts as they are listed. */
function bodyOf(whole: Report): SchemaType<typeof REPORT> {
  const { execution: _execution, value: _value, outcome, artifacts, ...report } = whole;
  return { ...report, outcome: clientEnding(outcome), artifacts: artifacts.map(artifactLine) };
}

function artifactLine({ name, bytes, shape }: SchemaType<typeof REPORT_ARTIFACT>): SchemaType<typeof REPORT_ARTIFACT> {
  return { name, bytes, shape: cleanText(shape) };
}
