import type { Artifact } from "../../journal/artifact-space.ts";
import { cleanText } from "../../output/clean-text.ts";
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
  if (!conversation) return about;
  return { ...about, conversation: { ...conversation, artifacts: conversation.artifacts.map(artifactLine) } };
}

/** A report as it is answered. */
export function reportAnswer({ ids }: ApiParts, { tenant }: Key, report: Report) {
  const state = report.outcome.type === "waiting" ? "waiting" : "ended";
  return { execution: ids.shown(tenant, report.execution), kind: "program", state, ...bodyOf(report) };
}

/** Without `value`, which is in the outcome too, without what is for the operator, and with artifacts as they are listed. */
function bodyOf({ outcome: ending, output, usage, calls, logs, artifacts, notes, remarks }: Report) {
  const outcome = ending.type === "crashed" ? { type: ending.type, code: ending.code } : ending;
  return { outcome, output, usage, calls, logs, artifacts: artifacts.map(artifactLine), notes, remarks };
}

function artifactLine({ name, bytes, shape }: Pick<Artifact, "name" | "bytes" | "shape">) {
  return { name, bytes, shape: cleanText(shape) };
}
