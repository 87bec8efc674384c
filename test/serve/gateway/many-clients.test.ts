import { expect, test } from "vitest";
import { answersOf, expectRight } from "./many-clients.ts";

test("8 clients whose programs run at once are all answered right", async () => {
  const answers = await answersOf(8);
  expect(answers).toHaveLength(8);
  expectRight(answers);
});
