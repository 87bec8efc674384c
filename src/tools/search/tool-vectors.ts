import { after, ignore, PortcullisError } from "../../base/index.ts";
import type { Tool } from "../tool.ts";

/** Gives a vector for each text. All vectors have the same length. Texts that mean the same have vectors near each other. */
export type Embed = (texts: readonly string[]) => Promise<readonly (readonly number[])[]>;

/** Texts handed over in one call. */
const BATCH = 256;
/** How long one call of `embed` may take, in milliseconds. A call that does not end would hold up all later searches. */
const EMBED_MS = 10_000;
/** Maximum characters of a tool's text. */
const TEXT_LENGTH = 1000;

const cache = new WeakMap<Embed, ReturnType<typeof toolVectors>>();

/** The vectors of tools by one `embed`, each asked for once. */
export function vectorsBy(embed: Embed) {
  const vectors = cache.get(embed) ?? toolVectors(embed);
  cache.set(embed, vectors);
  return vectors;
}

function toolVectors(embed: Embed) {
  const vectorOf = new WeakMap<Tool, Float32Array>();
  /** Numbers of each vector. */
  let numbers: number | undefined;
  /** Searches that come at once ask for a tool's vector once. */
  let last: Promise<void> = Promise.resolve();

  const vectorsOf = async (texts: readonly string[]): Promise<readonly Float32Array[]> => {
    const vectors: unknown = await inTime(embed(texts));
    const lists = Array.isArray(vectors) && vectors.every(isVector) ? vectors : [];
    const length = numbers ?? lists[0]?.length;
    if (lists.length !== texts.length || lists.some((one) => one.length !== length))
      throw new PortcullisError(
        "callback_failed",
        "search({ embed }): expected one list of numbers for each text, all of one length.",
      );
    numbers = length;
    return (vectors as readonly (readonly number[])[]).map(unitVector);
  };

  const ask = async (tools: readonly Tool[]): Promise<void> => {
    const missing = tools.filter((tool) => !vectorOf.has(tool));
    for (let start = 0; start < missing.length; start += BATCH) {
      const batch = missing.slice(start, start + BATCH);
      const vectors = await vectorsOf(batch.map(textOf));
      for (const [place, tool] of batch.entries()) vectorOf.set(tool, vectors[place]!);
    }
  };

  /** The tools whose vectors are nearest to the query's by cosine, the best first. Rejects if `embed` does, or gives no vectors. */
  return async (query: string, tools: readonly Tool[], limit: number): Promise<readonly Tool[]> => {
    const asking = last.then(() => ask(tools));
    last = asking.catch(ignore);
    await asking;
    const [wanted] = await vectorsOf([query.slice(0, TEXT_LENGTH)]);
    return tools
      .map((tool) => ({ tool, nearness: product(wanted!, vectorOf.get(tool)!) }))
      .toSorted((a, b) => b.nearness - a.nearness)
      .slice(0, limit)
      .map(({ tool }) => tool);
  };
}

async function inTime<Value>(work: Promise<Value>): Promise<Value> {
  const late = Promise.withResolvers<never>();
  const sentence = `search({ embed }): it did not answer within ${EMBED_MS} ms.`;
  using _ = after(EMBED_MS, () => late.reject(new PortcullisError("callback_failed", sentence)));
  return await Promise.race([work, late.promise]);
}

function isVector(value: unknown): value is readonly number[] {
  const isList = Array.isArray(value) || value instanceof Float32Array || value instanceof Float64Array;
  return isList && value.length > 0 && (value as readonly unknown[]).every((one) => Number.isFinite(one));
}

function textOf({ name, description }: Tool): string {
  return `${name}: ${description}`.slice(0, TEXT_LENGTH);
}

function unitVector(vector: readonly number[]): Float32Array {
  const length = Math.sqrt(product(vector, vector)) || 1;
  return Float32Array.from(vector, (one) => one / length);
}

function product(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let sum = 0;
  for (let place = 0; place < a.length; place += 1) sum += a[place]! * b[place]!;
  return sum;
}
