/** Whether everything runs, as `make test-all` and CI do: tests with containers, and every hostile program instead of one of each class. */
export const ALL_TESTS = process.env.PORTCULLIS_TESTS === "all";

/** How often a property is tried: of what `make test-all` tries, `make test` tries a quarter. */
export const runs = (all: number): number => (ALL_TESTS ? all : Math.ceil(all / 4));
