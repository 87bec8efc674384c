import { describe, test } from "vitest";

/** Whether tests have their full size, as in `make test-all` and `make test-machine`. */
export const ALL_TESTS = process.env.PORTCULLIS_TESTS !== undefined;

/** How often a property is tried: in `make test` a tenth of what `make test-all` tries, and never more than 500 times. */
export const runs = (all: number): number => (ALL_TESTS ? all : Math.min(500, Math.ceil(all / 10)));

/** The cases of `test.each`: of what `make test-all` tries, `make test` tries the first ones. */
export const someOf = <Case>(cases: readonly Case[], first: number): readonly Case[] =>
  ALL_TESTS ? cases : cases.slice(0, first);

/** A test of `make test-all` beside tests of `make test`, which does not have it. A file of such tests ends in `.all.test.ts`. */
export const testOfAll: typeof test = ALL_TESTS ? test : absent();
/** The same for a group of tests. */
export const describeOfAll: typeof describe = ALL_TESTS ? describe : absent();

/** Stands for a function of vitest, with all its modifiers, and registers nothing. */
function absent(): typeof test & typeof describe {
  const nothing: object = new Proxy(() => nothing, { get: () => nothing });
  return nothing as typeof test & typeof describe;
}
