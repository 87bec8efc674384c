import { expect, test } from "vitest";
import { resultValue } from "../../../src/sources/mcp/result-value.ts";
import { ServerText } from "../../../src/sources/mcp/clean-credentials.ts";
import { Content } from "../../../src/tools/content.ts";

const said = { type: "text", text: "a chart" };

test("a failure repeats no credential that the server was given, and more than is read is said", () => {
  const failed = (result: object, secrets: readonly string[] = []) =>
    resultValue({ isError: true, ...result }, new ServerText(secrets), "direct");
  const value = failed({ structuredContent: { headers: ["Bearer s3cret-token"] } }, ["Bearer s3cret-token"]);
  expect(JSON.stringify(Content.is(value) && value.value)).not.toContain("s3cret");
  expect(() => failed({ content: [said], structuredContent: { x: "y".repeat(300_000) } })).toThrow(
    /^a chart\nIts server gave more with this failure than is read of one\.$/,
  );
});
