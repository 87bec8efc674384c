import { fieldOf, type Fields, isFields, listOf, quickKey } from "../../base/index.ts";
import type { ModelUsage } from "../model.ts";
import type { TurnDisplay } from "../turn/turn-display.ts";

/** A part of a reply while its pieces arrive: a block, an item, a step or a call. */
export interface OpenPart {
  readonly fields: Record<string, unknown>;
  /** The input of a call as far as the model has written it; undefined before its first piece. */
  input: string | undefined;
  isOver: boolean;
}

/**
 * Puts the events of a streamed reply together: a part begins at a place, grows by pieces, and ends. Whatever does not say to
 * which part it belongs is a `SyntaxError`: a call must never be made with another call's input. The helpers of the SDKs
 * would complete an input that broke off to a smaller value, and throw at kinds that they do not know.
 */
export abstract class ReplyStream<Reply> {
  protected readonly display: TurnDisplay;
  readonly #parts = new Map<unknown, OpenPart & { readonly place: number }>();

  constructor(display: TurnDisplay) {
    this.display = display;
  }

  abstract take(event: unknown): void;
  /** The whole reply; undefined if it broke off. */
  abstract get reply(): Reply | undefined;

  /** Usage so far, also of a reply that broke off. */
  abstract readonly usage: ModelUsage;

  protected get parts(): readonly OpenPart[] {
    return [...this.#parts.values()].toSorted((a, b) => a.place - b.place);
  }

  protected at(place: number): OpenPart | undefined {
    return this.#parts.get(quickKey(place));
  }

  protected begin(place: number, fields: unknown): OpenPart {
    if (this.#parts.has(quickKey(place))) throw new SyntaxError(`Two parts of the reply have the place ${place}.`);
    if (!isFields(fields)) throw new SyntaxError(`The part of the reply at the place ${place} is no object.`);
    const part = { fields: { ...fields }, input: undefined, isOver: false, place };
    this.#parts.set(quickKey(place), part);
    return part;
  }

  /** The part that a piece belongs to. */
  protected underWay(place: number): OpenPart {
    const part = this.at(place);
    if (!part || part.isOver)
      throw new SyntaxError(`A piece of the reply belongs to no part that is under way, at the place ${place}.`);
    return part;
  }

  protected addInput(key: unknown, part: OpenPart, text: string): void {
    part.input = (part.input ?? "") + text;
    this.display.argument(key, text);
  }

  protected end(place: number): void {
    const part = this.at(place);
    if (!part) throw new SyntaxError(`A part of the reply ends that never began, at the place ${place}.`);
    part.isOver = true;
  }

  /** A part that comes whole: what it had when it began does not count. False if the place has a whole part already. */
  protected complete(place: number, fields: unknown): boolean {
    if (this.at(place)?.isOver) return false;
    this.#parts.delete(quickKey(place));
    this.begin(place, fields).isOver = true;
    return true;
  }
}

export function placeIn(event: unknown, name: string): number {
  const place = readPlace(fieldOf(event, name));
  if (place === undefined) throw new SyntaxError("An event of the reply does not say to which part it belongs.");
  return place;
}

/** A place as servers write it, some as a text; undefined for anything else. */
export function readPlace(written: unknown): number | undefined {
  const place = typeof written === "string" && /^\d{1,9}$/.test(written) ? Number(written) : written;
  return Number.isSafeInteger(place) && (place as number) >= 0 ? (place as number) : undefined;
}

export function partsOfItems(items: readonly Fields[], type: string, field: string): readonly unknown[] {
  return items.filter((item) => item.type === type).flatMap((item) => listOf(item, field));
}

export const fieldsOfParts = (parts: readonly OpenPart[]): readonly Fields[] => parts.map(({ fields }) => fields);
