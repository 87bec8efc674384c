import { afterAll, expect, test } from "vitest";
import { frameText } from "../../../bridge/frames.ts";
import { createIsolateSandbox } from "../../../src/sandboxes/index.ts";
import { heardUntil, iterate, LIMITS, openGuest, startText } from "../../support/guests.ts";
import { someOf } from "../../support/all-tests.ts";
import { sandboxContract } from "../contract.ts";

sandboxContract(createIsolateSandbox, { ends: "anything" });

const MIB = 1024 * 1024;

const sandbox = createIsolateSandbox({ warm: 1 });
afterAll(() => sandbox[Symbol.asyncDispose]());

const CHARACTERS: readonly (readonly [string, string])[] = [
  ["of characters that take two units", "\u{1f6aa}"],
  ["of one byte a character", "x"],
  ["beyond Latin-1", "\u4e16"],
];

test.each(someOf(CHARACTERS, 1))(
  "large texts cross unchanged, in both directions, and small ones between them: %s",
  async (_, character) => {
    await using guest = await openGuest(sandbox, "a", { ...LIMITS, frameBytes: 16 * MIB });
    const frames = iterate(guest);
    const text = `.${character.repeat(2 * MIB)}`;
    const head = (id: number) => frameText({ kind: "answer", now: 1_760_000_000_100, id, ok: true, body: "" });
    const program = `const texts = [];
    for (let id = 0; id < 4; id += 1) texts.push(await tools.ping({}));
    return [texts[0] === texts[2], texts[1], texts[3], texts[2]];`;
    guest.send([startText(program).replace('"frameBytes":1048576', `"frameBytes":${16 * MIB}`)]);
    for (const [index, value] of [text, "small", text, "small"].entries()) {
      const body = JSON.stringify(value);
      if (index === 2) guest.send([[head(3), body]]);
      else guest.send([`${head(index + 1)}${body}`]);
    }
    const settled = (await heardUntil(frames, "settled")).at(-1) ?? "";
    guest.release();
    // Compared so that a failure does not print it.
    expect(settled.slice(settled.indexOf("\n") + 1) === JSON.stringify([true, "small", "small", text])).toBe(true);
  },
);
