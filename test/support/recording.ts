import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { brotliCompressSync } from "node:zlib";
import { readData } from "../../examples/read-data.ts";

/** A folder with the packages to record answers of; undefined where recorded answers are taken. */
const from = process.env["RECORD_FROM"];

/** Answers of a package that is not installed, in a file of `test/fixtures`. README.md there says how they are recorded. */
export class Recording<Answer> {
  readonly #name: string;
  readonly #file: URL;
  readonly #answers: Record<string, Answer>;

  constructor(name: string) {
    this.#name = name;
    this.#file = new URL(`../fixtures/${name}.json.br`, import.meta.url);
    this.#answers = from === undefined ? (readData(this.#file) as Record<string, Answer>) : {};
  }

  async answer(question: unknown, ask: (require: NodeJS.Require) => Answer | Promise<Answer>): Promise<Answer> {
    const key = createHash("sha256").update(JSON.stringify(question)).digest("base64url").slice(0, 12);
    if (from !== undefined) this.#answers[key] = await ask(createRequire(join(from, "package.json")));
    const answer = this.#answers[key];
    if (answer === undefined)
      throw new Error(`test/fixtures/${this.#name}.json.br lacks an answer: README.md there says how to record it.`);
    return answer;
  }

  /** Writes the file, where answers were recorded. */
  write(): void {
    if (from !== undefined) writeFileSync(this.#file, brotliCompressSync(JSON.stringify(this.#answers)));
  }
}
