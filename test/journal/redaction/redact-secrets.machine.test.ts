import { expect, test } from "vitest";
import { redactSecrets } from "../../../src/index.ts";
import { processorMs } from "../../support/slowness.ts";

/** Of the time for as many plain letters, by work in proportion to the text. */
const RATIO = 20;
/** Of the time for half of the text; work that grows with its square takes four times as long. */
const GROWTH = 3;
const LEAST_MS = 50;

/** What patterns of rules begin with, what names and values are made of, and what goes on for long. */
const UNITS = [
  ".", "a", "A0", "-", "_", "=", ":", " ", "\n", "'", '"', "a.", "a=", "a:", "a-", "pwd=", "password:'", 'token="', "eyJa.",
  "eyJ", "://", "http://a:", "-----BEGIN PRIVATE KEY-----\n", "-----BEGIN PRIVATE KEY-----\nAb: ", "-----BEGIN ", "AKIA",
  "figd_", "ghs_1_", "glpat-", "npm_", "SG.", "xoxb-", "dckr_pat_", "mongodb://", "_authToken=", "aws_secret_access_key=",
  "[redacted 1 character: ", "Bearer ",
]; // prettier-ignore

test("the work on any text is in proportion to its length, and to that on plain letters", async () => {
  const redact = redactSecrets();
  /** The shortest of three, because a busy machine only adds to it. */
  const work = async (text: string) => {
    const times = [];
    for (let round = 0; round < 3; round += 1) times.push(await processorMs(() => redact({ text, to: "model" })));
    return Math.max(LEAST_MS, Math.min(...times));
  };
  const plain = await work("a".repeat(250_000));
  for (const unit of UNITS) {
    const text = (length: number) => unit.repeat(length / unit.length);
    const once = await work(text(250_000));
    const twice = await work(text(500_000));
    process.stdout.write(
      `${JSON.stringify(unit)}: ${once.toFixed(0)} ms, twice ${twice.toFixed(0)}, letters ${plain.toFixed(0)}\n`,
    );
    expect(once / plain, unit).toBeLessThan(RATIO);
    expect(twice / once, unit).toBeLessThanOrEqual(GROWTH);
  }
}, 300_000);
