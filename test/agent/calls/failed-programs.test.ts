import { expect, test } from "vitest";
import { FailedPrograms } from "../../../src/agent/calls/failed-programs.ts";

test("the last program that failed in an earlier turn is corrected first, and each once", () => {
  const failed = new FailedPrograms();
  expect(failed.before(0)).toBeUndefined();
  failed.begin("c1", undefined);
  failed.fail({ execution: "a", startedAt: 1, turn: 0 });
  expect(failed.before(0)).toBeUndefined();
  expect(failed.before(1)).toEqual({ execution: "a", startedAt: 1, turn: 0, isOld: false });
  failed.begin("c2", undefined);
  failed.fail({ execution: "b", startedAt: 2, turn: 0 });
  failed.begin("c3", "b");
  // Another program ran since it failed.
  expect(failed.before(1)).toEqual({ execution: "a", startedAt: 1, turn: 0, isOld: true });
  failed.begin("c4", "a");
  expect(failed.before(2)).toBeUndefined();
});
