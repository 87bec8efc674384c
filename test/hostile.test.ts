import { describe, expect, test } from "vitest";
import { firstOfEachClass, readAttacks } from "./hostile-support/attacks.ts";
import { framesOnPipeSuite, hostileSuite } from "./hostile-support/hostile-suite.ts";

/** So many attacks by programs there must be, and of all these classes. */
const PROGRAMS = 80;
const CLASSES = "calls cpu error escape input keep log memory microtask result settle source stream tamper trap".split(
  " ",
);

const attacks = readAttacks();

test("there are programs of every class", () => {
  const programs = attacks.filter(({ kind }) => kind === "program");
  expect(programs.length).toBeGreaterThanOrEqual(PROGRAMS);
  expect(new Set(programs.map(({ name }) => name.split("-", 1)[0]))).toEqual(new Set(CLASSES));
});

const first = firstOfEachClass(attacks);
hostileSuite(first);

describe("a guest that forges frames on a pipe", () =>
  framesOnPipeSuite(first.filter(({ kind }) => kind === "frames").slice(0, 1)));
