import type { JournalRecord } from "../../journal/record.ts";
import { pastTurns } from "../../programs/from-journal/read-turns.ts";

export interface MadeCall {
  readonly tool: string;
  /** JSON text. */
  readonly inputText: string;
}

/**
 * The calls of a journalled execution, in layers. The calls of a layer can depend only on answers and items to earlier layers. A
 * program that awaits each call before the next has one layer per call, even if the calls were independent.
 */
export function callsOf(records: readonly JournalRecord[]): readonly (readonly MadeCall[])[] {
  const layers: MadeCall[][] = [];
  const layerOf = new Map<number, number>();
  // A timer's turn has no answer of its own: its calls are placed after all answers so far.
  let latest = 0;
  for (const { event, commands } of pastTurns(records)) {
    const given = event.kind === "answer" || event.kind === "items" ? (layerOf.get(event.id) ?? 0) + 1 : undefined;
    latest = Math.max(latest, given ?? 0);
    const layer = given ?? latest;
    for (const command of commands) {
      if (command.kind !== "call") continue;
      layerOf.set(command.id, layer);
      (layers[layer] ??= []).push({ tool: command.tool, inputText: command.body });
    }
  }
  return layers.filter((layer) => layer !== undefined);
}
