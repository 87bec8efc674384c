import { readRecords } from "../../../journal/read-records.ts";
import { RequestProblem } from "../../http/problems.ts";
import { textAnswer } from "../json-answer.ts";
import { type ApiParts, type ApiRequest, ownExecution } from "../parts.ts";

/** `GET /v1/executions/:id/artifacts/:name`: the latest value under the name, as JSON. */
export async function artifact(parts: ApiParts, { key, id, name }: ApiRequest<unknown, unknown>): Promise<Response> {
  const own = await ownExecution(parts, key, id);
  let text: string | undefined;
  for await (const record of readRecords(parts.runtime.journal, own, key))
    if (record.type === "artifact" && record.name === name) text = record.value;
  if (text === undefined)
    throw new RequestProblem(
      "artifact_unknown",
      "This execution keeps no value of this name. GET /v1/executions/ID lists the existing names.",
    );
  const found = textAnswer(text);
  // A browser saves it and does not show it.
  found.headers.set("content-disposition", "attachment");
  return found;
}
