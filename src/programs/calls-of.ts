import type { JournalRecord } from "../journal/record.ts";
import { pastTurns } from "./history.ts";

/** A call as a program made it. */
export interface MadeCall {
  readonly tool: string;
  /** JSON text. */
  readonly inputText: string;
}

/**
 * The calls of a journalled execution, in layers: those of one layer needed no answer but those of the layers before.
 * A program that awaits call after call has as many layers as calls, whether it had to wait or not.
 */
export function callsOf(records: readonly JournalRecord[]): readonly (readonly MadeCall[])[] {
  const layers: MadeCall[][] = [];
  const layerOf = new Map<number, number>();
  // A timer's turn belongs to no answer: what it calls comes after all that has been answered so far.
  let latest = 0;
  for (const { event, commands } of pastTurns(records)) {
    if (event.kind === "answer") latest = Math.max(latest, (layerOf.get(event.id) ?? 0) + 1);
    const layer = event.kind === "answer" ? (layerOf.get(event.id) ?? 0) + 1 : latest;
    for (const command of commands) {
      if (command.kind !== "call") continue;
      layerOf.set(command.id, layer);
      (layers[layer] ??= []).push({ tool: command.tool, inputText: command.body });
    }
  }
  return layers.filter((layer) => layer !== undefined);
}
