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

/** The vectors of tools by one `embed`, each asked for once. */
export class ToolVectors {
  static readonly #known = new WeakMap<Embed, ToolVectors>();
  readonly #embed: Embed;
  readonly #vectors = new WeakMap<Tool, Float32Array>();
  /** Numbers of each vector. */
  #length: number | undefined;
  /** Searches that come at once ask for a tool's vector once. */
  #asking: Promise<void> = Promise.resolve();

  private constructor(embed: Embed) {
    this.#embed = embed;
  }

  static of(embed: Embed): ToolVectors {
    const known = ToolVectors.#known.get(embed) ?? new ToolVectors(embed);
    ToolVectors.#known.set(embed, known);
    return known;
  }

  /** The tools whose vectors are nearest to the query's by cosine, the best first. Rejects if `embed` does, or gives no vectors. */
  async nearest(query: string, tools: readonly Tool[], limit: number): Promise<readonly Tool[]> {
    const asking = this.#asking.then(() => this.#ask(tools));
    this.#asking = asking.catch(ignore);
    await asking;
    const [wanted] = await this.#vectorsOf([query.slice(0, TEXT_LENGTH)]);
    return tools
      .map((tool) => ({ tool, nearness: product(wanted!, this.#vectors.get(tool)!) }))
      .toSorted((a, b) => b.nearness - a.nearness)
      .slice(0, limit)
      .map(({ tool }) => tool);
  }

  async #ask(tools: readonly Tool[]): Promise<void> {
    const missing = tools.filter((tool) => !this.#vectors.has(tool));
    for (let start = 0; start < missing.length; start += BATCH) {
      const batch = missing.slice(start, start + BATCH);
      const vectors = await this.#vectorsOf(batch.map(textOf));
      for (const [place, tool] of batch.entries()) this.#vectors.set(tool, vectors[place]!);
    }
  }

  async #vectorsOf(texts: readonly string[]): Promise<readonly Float32Array[]> {
    const vectors: unknown = await inTime(this.#embed(texts));
    const lists = Array.isArray(vectors) && vectors.every(isVector) ? vectors : [];
    const length = this.#length ?? lists[0]?.length;
    if (lists.length !== texts.length || lists.some((one) => one.length !== length))
      throw new PortcullisError(
        "callback_failed",
        "search({ embed }): expected one list of numbers for each text, all of one length.",
      );
    this.#length = length;
    return (vectors as readonly (readonly number[])[]).map(unitVector);
  }
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
