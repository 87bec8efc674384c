import { describe, expect, test } from "vitest";
import { resultValue } from "../../../src/sources/mcp/result-value.ts";
import { ServerText } from "../../../src/sources/mcp/clean-credentials.ts";
import { Content } from "../../../src/tools/content.ts";

const text = new ServerText([]);
const data = Buffer.from([1, 2, 3]).toString("base64");
const image = { type: "image", data, mimeType: "image/png", annotations: { audience: ["user"] } };
const audio = { type: "audio", data, mimeType: "audio/wav" };
const blob = { type: "resource", resource: { uri: "file:///a.zip", mimeType: "application/zip", blob: data } };
const said = { type: "text", text: "a chart" };

describe("what an MCP server answers a direct call with", () => {
  test("images, sounds and bytes of resources go beside the value, which has their sizes", () => {
    const value = resultValue({ content: [said, image, audio, blob] }, text, "direct");
    expect(Content.is(value) && value.parts).toEqual([
      { type: "image", mediaType: "image/png", data },
      { type: "file", mediaType: "audio/wav", data },
      { type: "file", mediaType: "application/zip", data },
    ]);
    expect(Content.is(value) && value.value).toEqual({
      content: [
        said,
        { type: "image", mimeType: "image/png", bytes: 3 },
        { type: "audio", mimeType: "audio/wav", bytes: 3 },
        { type: "resource", resource: { uri: "file:///a.zip", mimeType: "application/zip", bytes: 3 } },
      ],
    });
  });

  test("a structured value stays as it is", () => {
    const value = resultValue({ content: [image], structuredContent: { points: 3 } }, text, "direct");
    expect(Content.is(value) && [value.value, value.parts.length]).toEqual([{ points: 3 }, 1]);
  });

  test("what is no image, or no base64, stays in the value", () => {
    const odd = [
      { type: "image", data: "no base64!", mimeType: "image/png" },
      { type: "image", data, mimeType: "text/html" },
      { type: "audio", data: 3, mimeType: "audio/wav" },
      { type: "resource", resource: { uri: "a", text: "x" } },
      { type: "resource", resource: null },
    ];
    expect(resultValue({ content: odd }, text, "direct")).toEqual({ content: odd });
  });
});

test("a program gets the bytes as base64", () => {
  expect(resultValue({ content: [said, audio] }, text, "programmatic")).toEqual({ content: [said, audio] });
});

describe("a failure", () => {
  const failed = (result: object, caller: "direct" | "programmatic" = "direct", secrets: readonly string[] = []) => {
    const value = resultValue({ isError: true, ...result }, new ServerText(secrets), caller);
    return Content.is(value)
      ? { isError: value.isError, value: value.value, parts: value.parts, message: value.message }
      : value;
  };

  test("of texts alone is thrown with them", () => {
    expect(() => failed({ content: [said] })).toThrow("a chart");
    expect(() => failed({ content: [] })).toThrow("did not say why");
  });

  test("with structured content has it as its value, and the server's words if they are not the same", () => {
    const structuredContent = { code: 5 };
    const whole = { isError: true, value: { code: 5 }, parts: [] };
    expect(failed({ content: [said], structuredContent })).toEqual({ ...whole, message: "a chart" });
    expect(failed({ content: [{ type: "text", text: '{ "code": 5 }' }], structuredContent })).toEqual(whole);
    expect(failed({ structuredContent }, "programmatic")).toEqual(whole);
  });

  test("with images has them as parts, and their sizes in its value, for programs too", () => {
    const blocks = { content: [said, { type: "image", mimeType: "image/png", bytes: 3 }] };
    const parts = [{ type: "image", mediaType: "image/png", data }];
    expect(failed({ content: [said, image] })).toEqual({ isError: true, value: blocks, parts });
    expect(failed({ content: [said, image] }, "programmatic")).toMatchObject({ value: blocks, message: "a chart" });
  });

  test("repeats no credential that the server was given, and more than is read is said", () => {
    const structuredContent = { headers: ["Bearer s3cret-token"] };
    expect(JSON.stringify(failed({ structuredContent }, "direct", ["Bearer s3cret-token"]))).not.toContain("s3cret");
    expect(() => failed({ content: [said], structuredContent: { x: "y".repeat(300_000) } })).toThrow(
      /^a chart\nIts server gave more with this failure than is read of one\.$/,
    );
  });
});
