import { describeValue } from "../../gate/run/describe-value.ts";
import type { ArtifactPlace } from "../../gate/artifacts/session-artifacts.ts";
import type { Redactor } from "../../redaction/redactor.ts";
import { checkJson } from "../../values/json/check-json.ts";
import type { Lane } from "../../values/slice-scheduler.ts";
import type { Limits } from "../limits.ts";
import type { Ending } from "../outcome.ts";

/** The artifact that holds a value which is too large for a model. */
export interface KeptValue {
  readonly name: string;
  /** Whether a later program can load it. */
  readonly isShared: boolean;
}

/**
 * Keeps a value that is too large for a model as an artifact. A call that kept the value before keeps its name. `text`
 * is JSON. Resolves with undefined if the limits do not allow the artifact, or if the text is not plain JSON.
 */
export async function keepLarge(
  { space, prefix }: ArtifactPlace,
  text: string,
  call: string,
  { artifactBytes, artifacts }: Limits,
  { lane, redactor }: { readonly lane: Lane; readonly redactor?: Redactor | undefined },
): Promise<KeptValue | undefined> {
  const bytes = Buffer.byteLength(text);
  if (bytes > artifactBytes || (await lane.work(checkJson(text))) !== undefined) return undefined;
  const described = await describeValue(text, lane, redactor);
  const name = space.nameFor(prefix + call);
  if (space.reserve(name, artifacts) !== undefined) return undefined;
  await space.save({ name, call: prefix + call, bytes, ...described }, text);
  return { name, isShared: prefix !== "" };
}

export async function keepReturned(
  ending: Ending,
  place: ArtifactPlace,
  limits: Limits,
  reading: { readonly lane: Lane; readonly redactor?: Redactor | undefined },
): Promise<KeptValue | undefined> {
  const text = ending.type === "completed" ? ending.text : undefined;
  if (text === undefined || Buffer.byteLength(text) <= limits.outputBytes) return undefined;
  return keepLarge(place, text, VALUE_CALL, limits, reading);
}

const VALUE_CALL = "value";

/** The artifact of a program's value that an earlier driver has kept. */
export function keptBefore({ space, prefix }: ArtifactPlace): KeptValue | undefined {
  const kept = space.savedBy(prefix + VALUE_CALL);
  return kept && { name: kept.name, isShared: prefix !== "" };
}
