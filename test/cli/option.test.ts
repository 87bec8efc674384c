import { Command } from "commander";
import { expect, expectTypeOf, test } from "vitest";
import {
  type CommandOptions,
  defaulting,
  hidden,
  mandatory,
  optionsOf,
  reading,
  repeatable,
} from "../../src/cli/option.ts";

const read = (flag: string, text: string) => `${flag} ${text}`.length;
const TABLE = {
  "--max-turns <number>": reading("a value that is read", read),
  "--note <text>": "a text",
  "--allow-changed-tools": "a switch",
  "--no-parallel-calls": "a switch that is on",
  "--model <name>": mandatory("has to be given"),
  "--approve <how>": defaulting<"ask" | "all">("has a default", "ask"),
  "--mcp <file>": repeatable("may be repeated"),
  "--result <call=json>": repeatable("is read each time", read),
  "--port <number>": hidden(),
};

function parsed(...args: readonly string[]): CommandOptions<typeof TABLE> {
  const command = new Command();
  for (const option of optionsOf(TABLE)) command.addOption(option);
  return command.parse(args, { from: "user" }).opts();
}

test("a command is given its options under the names, and with the types, that follow from their table", () => {
  const given = parsed(
    "--model",
    "m",
    "--max-turns",
    "12",
    "--note",
    "n",
    "--allow-changed-tools",
    "--no-parallel-calls",
  );
  expect(given).toEqual({
    model: "m",
    maxTurns: "--max-turns 12".length,
    note: "n",
    allowChangedTools: true,
    parallelCalls: false,
    approve: "ask",
    mcp: [],
    result: [],
  });
  expectTypeOf(given).toEqualTypeOf<{
    readonly maxTurns: number | undefined;
    readonly note: string | undefined;
    readonly allowChangedTools: boolean | undefined;
    readonly parallelCalls: boolean;
    readonly model: string;
    readonly approve: "ask" | "all";
    readonly mcp: readonly string[];
    readonly result: readonly number[];
    readonly port: string | undefined;
  }>();
});

test("an option that may be repeated gives all its values, and one command's values are not another's", () => {
  const repeated = ["--mcp", "a", "--mcp", "b", "--result", "1", "--result", "22"];
  const { mcp, result } = parsed("--model", "m", ...repeated);
  expect([mcp, result]).toEqual([
    ["a", "b"],
    ["--result 1".length, "--result 22".length],
  ]);
  expect(parsed("--model", "m")).toMatchObject({ mcp: [], result: [], parallelCalls: true });
});
