import { expect, test } from "vitest";
import { containerSuite } from "./hostile-support/container-suite.ts";
import { firstOfEachClass, readAttacks } from "./hostile-support/attacks.ts";

const PROGRAMS = 35;
const CLASSES = "bridge disk end fork kernel learn memory network print rights".split(" ");

const attacks = readAttacks("hostile-docker");

test("there are programs of every class, for both languages' runtimes", () => {
  expect(attacks.length).toBeGreaterThanOrEqual(PROGRAMS);
  expect(new Set(attacks.map(({ name }) => name.split("-", 1)[0]))).toEqual(new Set(CLASSES));
  for (const ending of [".js", ".py"])
    expect(attacks.filter(({ path }) => path.endsWith(ending)).length).toBeGreaterThanOrEqual(15);
});

containerSuite(firstOfEachClass(attacks));
