import type { KeptValues } from "../execution.ts";
import type { ArtifactSpace } from "../../journal/artifact-space.ts";
import { cleanText, insetText, type SchemaType } from "../../base/index.ts";
import type { REPORT_ARTIFACT } from "./report-shape.ts";

/** A value that is kept under a name, outside of what a model reads. */
export interface ReportArtifact extends SchemaType<typeof REPORT_ARTIFACT> {
  /** Reads the value from the journal. Rejects as the journal does. */
  readonly read: () => Promise<unknown>;
}

export function reportArtifacts(space: ArtifactSpace | undefined): readonly ReportArtifact[] {
  if (!space) return [];
  return space.all.map((artifact) => ({
    name: artifact.name,
    bytes: artifact.bytes,
    shape: cleanText(artifact.shape),
    read: async () => JSON.parse((await space.read(artifact)).value) as unknown,
  }));
}

const LISTED = 10;

/** What a program has kept under names of its own, for the model: name, size, shape and first row. Empty if nothing. */
export function keptText(kept: KeptValues | undefined): string {
  if (!kept) return "";
  const { place, value, printed } = kept;
  const names = new Set([value?.name, printed?.name]);
  const own = place.space.all.filter(({ name, call }) => isOwn(call, place.prefix) && !names.has(name));
  if (own.length === 0) return "";
  const more = own.length > LISTED ? `\nand ${own.length - LISTED} more.` : "";
  // A name has plain characters only.
  const lines = own
    .slice(-LISTED)
    .map(({ name, bytes, shape, first }) => `${name}: ${bytes} bytes, ${shape}, first: ${first}`)
    .map((line) => insetText(cleanText(line.replaceAll(/\s+/g, " "))));
  const how = place.prefix === "" ? "Kept for the host:" : "Kept, for a later program to load by name:";
  return `${how}\n${lines.join("\n")}${more}`;
}

/** Whether the program itself made a call: `call_2/3` is of the program of `call_2`. */
function isOwn(call: string, prefix: string): boolean {
  return call.startsWith(prefix) && (prefix === "" || !call.slice(prefix.length).includes("/"));
}
