import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Message } from "../../examples/read-file/messages.ts";
import { portcullis, root } from "../cli/command.ts";

const folder = join(root, "examples/read-file");
const messages = JSON.parse(readFileSync(join(folder, "transcript.json"), "utf8")) as readonly Message[];
const lines = readFileSync(join(folder, "files/programme.md"), "utf8").trimEnd().split("\n");

test("demo read-file writes the messages of the transcript", async () => {
  const { code, stdout } = await portcullis(["demo", "read-file"]);
  expect(stdout).toContain("as it should be");
  expect(stdout).toContain("assistant  It begins at 15:30 in the Attic.");
  expect(code).toBe(0);
});

test("the transcript is a loop: a call, then its result, until a message without calls answers from the file", () => {
  const [first, ...rest] = messages;
  const last = rest.pop();
  expect(first?.type).toBe("user");
  for (const [index, message] of rest.entries()) {
    const before = rest[index - 1];
    if (index % 2 === 0) expect(message).toMatchObject({ type: "assistant", calls: { length: 1 } });
    else
      expect(message).toMatchObject({
        type: "tool",
        isError: false,
        callId: before?.type === "assistant" && before.calls[0]?.id,
      });
  }
  const talk = lines.find((line) => line.includes("Glaciers that sing")) ?? "";
  const [, time = "", hall = ""] = /(\d+:\d+), (.*):/.exec(talk) ?? [];
  expect(last).toEqual({ type: "assistant", text: `It begins at ${time} in the ${hall}.`, calls: [] });
});

test("the pages of the transcript are the file, line by line under its numbers", () => {
  const pages = messages.flatMap((message) =>
    message.type === "tool" ? [(JSON.parse(message.text) as { readonly text: string }).text] : [],
  );
  expect(pages.join("\n").split("\n")).toEqual(lines.map((line, index) => `${index + 1}\t${line}`));
});
