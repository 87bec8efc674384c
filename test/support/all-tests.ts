/** Whether everything runs, as `make test-all` and CI do: tests with containers, and every hostile program instead of one of each class. */
export const ALL_TESTS = process.env.PORTCULLIS_TESTS === "all";
