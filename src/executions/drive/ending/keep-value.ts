import { describeValue } from "../../../gate/run/describe-value.ts";
import type { ArtifactPlace } from "../../../gate/artifacts/session-artifacts.ts";
import type { Redactor } from "../../../journal/redaction/redactor.ts";
import { type Lane, plainFault, readerFor, asUntrusted } from "../../../base/index.ts";
import type { Limits } from "../../limits.ts";
import type { Ending } from "../../outcome.ts";
import { printedText, type Stretch } from "../log-collector.ts";

/** The artifact that holds a value which is too large for a model. */
export interface KeptValue {
  readonly name: string;
  /** Whether a later program can load it. */
  readonly isShared: boolean;
}

export interface KeptLarger {
  readonly value?: KeptValue | undefined;
  readonly printed?: KeptValue | undefined;
}

interface Keeping {
  readonly place: ArtifactPlace;
  readonly limits: Limits;
  readonly lane: Lane;
  readonly redactor?: Redactor | undefined;
  /** Characters that were taken out of the value. */
  readonly redacted?: number | undefined;
}

/**
 * Keeps a value that is too large for a model as an artifact. A call that kept the value before keeps its name; else the
 * name is that of `name` which is free. `text` is JSON. Resolves with undefined if the limits do not allow the artifact, or if
 * the text is not plain JSON.
 */
export async function keepLarge(
  { place: { space, prefix }, limits: { artifactBytes, artifacts }, lane, redactor, redacted }: Keeping,
  text: string,
  call: string,
  names?: "printed",
): Promise<KeptValue | undefined> {
  const bytes = Buffer.byteLength(text);
  if (bytes > artifactBytes || (await plainFault(asUntrusted(text), readerFor(lane.tenant))) !== undefined)
    return undefined;
  const described = await describeValue(text, lane, redactor);
  const name = space.nameFor(prefix + call, names);
  if (space.reserve(name, artifacts) !== undefined) return undefined;
  await space.save({ name, call: prefix + call, bytes, ...described }, { value: text, redacted });
  return { name, isShared: prefix !== "" };
}

/** Keeps what a program has returned and printed, as far as it is more than a model is shown. A program that waits goes on. */
export async function keepLarger(
  { ending, printed }: { readonly ending: Ending; readonly printed?: readonly Stretch[] | undefined },
  keeping: Keeping,
): Promise<KeptLarger> {
  if (ending.type === "waiting") return {};
  const text = ending.type === "completed" ? ending.text : undefined;
  const isLarge = text !== undefined && Buffer.byteLength(text) > keeping.limits.outputBytes;
  return {
    value: isLarge ? await keepLarge(keeping, text, VALUE_CALL) : undefined,
    printed: printed && (await keepLarge(keeping, JSON.stringify(printedText(printed)), PRINTED, PRINTED)),
  };
}

const VALUE_CALL = "value";
const PRINTED = "printed";

/** What an earlier driver has kept of what a program has returned and printed. */
export function keptBefore({ space, prefix }: ArtifactPlace): KeptLarger {
  const keptAs = (call: string): KeptValue | undefined => {
    const kept = space.savedBy(prefix + call);
    return kept && { name: kept.name, isShared: prefix !== "" };
  };
  return { value: keptAs(VALUE_CALL), printed: keptAs(PRINTED) };
}
