import { describeValue, plainFault } from "../gate/describe-value.ts";
import type { ArtifactPlace } from "../gate/session-artifacts.ts";
import type { Redactor } from "../redaction/redactor.ts";
import type { Lane } from "../values/slice-scheduler.ts";
import type { Limits } from "./limits.ts";

/** The artifact that holds a value which is too large for a model. */
export interface KeptValue {
  readonly name: string;
  /** Whether a later program can load it. */
  readonly isShared: boolean;
}

/**
 * Keeps a value that is too large for a model as an artifact, under the name that it had if the same call kept it before. `text` is JSON.
 * Undefined where the limits do not allow it, or for a text that is no plain JSON.
 */
export async function keepLarge(
  { space, prefix }: ArtifactPlace,
  text: string,
  call: string,
  { artifactBytes, artifacts }: Limits,
  { lane, redactor }: { readonly lane: Lane; readonly redactor?: Redactor | undefined },
): Promise<KeptValue | undefined> {
  const bytes = Buffer.byteLength(text);
  if (bytes > artifactBytes || (await plainFault(text, lane)) !== undefined) return undefined;
  const described = await describeValue(text, lane, redactor);
  const name = space.nameFor(prefix + call);
  if (space.reserve(name, artifacts) !== undefined) return undefined;
  await space.save({ name, call: prefix + call, bytes, ...described }, text);
  return { name, isShared: prefix !== "" };
}

/** The call under which the value of a program itself is kept. */
export const VALUE_CALL = "value";

/** The artifact of a program's value that an earlier driver has kept. */
export function keptBefore({ space, prefix }: ArtifactPlace): KeptValue | undefined {
  const kept = space.savedBy(prefix + VALUE_CALL);
  return kept && { name: kept.name, isShared: prefix !== "" };
}
