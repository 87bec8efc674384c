import { expect, test } from "vitest";
import { DOCKERFILE, listIn } from "./server-image.ts";

test("the image runs as a user without rights, has its journal outside, and checks a path that needs no key", () => {
  expect(DOCKERFILE).toMatch(/^USER 65532:65532$/m);
  expect(DOCKERFILE).toMatch(/^VOLUME \/data$/m);
  expect(DOCKERFILE).toContain("http://127.0.0.1:7332/healthz");
  expect(listIn("ENTRYPOINT")[0]).toBe("node");
  expect(listIn("CMD")[0]).toBe("serve");
});
