import { inSlices } from "../../values/in-slices.ts";
import { Lane } from "../../values/slice-scheduler.ts";
import { RequestProblem } from "../http/problems.ts";
import { textAnswer } from "./json-answer.ts";
import { type ApiParts, type ApiRequest, ownExecution } from "./parts.ts";

/** `GET /v1/executions/:id/artifacts/:name`: the latest value under the name, as JSON. */
export async function artifact(parts: ApiParts, { key, id, name }: ApiRequest<unknown, unknown>): Promise<Response> {
  const own = await ownExecution(parts, key, id);
  let found: Response | undefined;
  try {
    for await (const record of inSlices(parts.runtime.journal.read(own), new Lane(key.tenant))) {
      if (record.type !== "artifact" || record.name !== name) continue;
      await found?.body?.cancel();
      found = textAnswer(parts, key, record.value);
    }
  } catch (error) {
    await found?.body?.cancel();
    throw error;
  }
  if (!found)
    throw new RequestProblem(
      "artifact_unknown",
      "This execution keeps no value of this name. GET /v1/executions/ID lists the existing names.",
    );
  // A browser saves it and does not show it.
  found.headers.set("content-disposition", "attachment");
  return found;
}
