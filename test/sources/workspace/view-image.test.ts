import { expect, test } from "vitest";
import { createRuntime } from "../../../src/index.ts";
import { createMemorySandbox } from "../../../src/runtime/testing.ts";
import { imageTypeOf } from "../../../src/sources/workspace/read-file.ts";
import { Folder } from "./folder.ts";

const PNG = Buffer.from("89504e470d0a1a0a0000", "hex");

test.each([
  ["image/png", PNG],
  ["image/jpeg", Buffer.from("ffd8ffe0", "hex")],
  ["image/gif", Buffer.from("GIF89a...")],
  ["image/gif", Buffer.from("GIF87a...")],
  ["image/webp", Buffer.from("RIFF\u0001\u0001\u0001\u0001WEBPVP8 ")],
  [undefined, Buffer.from("<svg/>")],
  [undefined, Buffer.from("RIFF0000WAVE")],
  [undefined, Buffer.alloc(0)],
])("%s is known by its bytes", (type, bytes) => {
  expect(imageTypeOf(bytes)).toBe(type);
});

test("a model that calls gets the image, whatever its name says", async () => {
  await using folder = new Folder({ "logo.txt": PNG });
  await using runtime = await createRuntime({ tools: folder.tools, sandbox: createMemorySandbox() });
  const answer = await runtime.call({ tool: "view_image", caller: "direct", input: { path: "logo.txt" } });
  expect(answer).toMatchObject({
    value: { path: "logo.txt", mediaType: "image/png", bytes: 10 },
    parts: [{ type: "image", mediaType: "image/png", data: PNG.toString("base64"), name: "logo.txt" }],
  });
});

test.each([
  ["text", Buffer.from("text"), '"a" is no image in PNG, JPEG, GIF or WebP: read_file reads text.'],
  ["too large", Buffer.concat([PNG, Buffer.alloc(4 * 1024 * 1024)]), "files of up to 3932160 bytes are read"],
])("a file that is %s is refused", async (_, bytes, message) => {
  await using folder = new Folder({ a: bytes });
  expect(await folder.call("view_image", { path: "a" })).toContain(message);
});
