import { spawnSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { relative } from "node:path";

/**
 * After a run of all tests that failed: runs the files that failed once more, one at a time, and ends with their exit
 * code. It names each test that failed at first: a test that passes now is unsteady, which is a defect of the test or of the
 * code. A run that failed in more files, or by an error of no file, stays failed.
 */
const REPORT = "node_modules/.cache/tests.json";
const FILES = 5;

interface Failed {
  name: string;
  message?: string;
  status: string;
  assertionResults: { status: string; fullName: string; failureMessages?: string[] }[];
}

function failedFiles(): Failed[] {
  try {
    const { testResults } = JSON.parse(readFileSync(REPORT, "utf8")) as { testResults: Failed[] };
    return testResults.filter(({ status }) => status !== "passed");
  } catch {
    return [];
  } finally {
    rmSync(REPORT, { force: true });
  }
}

const say = (text: string) => process.stderr.write(`${text}\n`);

const failed = failedFiles();
if (failed.length === 0 || failed.length > FILES) {
  say(`The tests are not run again: that is done for at most ${FILES} files of tests.`);
  process.exit(1);
}
const paths = failed.map(({ name }) => relative(process.cwd(), name));
say(`\nRun again, one file at a time: ${paths.join(", ")}`);
const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${REPORT}`];
const { status } = spawnSync("node_modules/.bin/vitest", ["run", "--maxWorkers=1", ...reporters, ...paths], {
  stdio: "inherit",
  env: { ...process.env, PORTCULLIS_TESTS: "all" },
});
const failedAgain = failedFiles().flatMap(({ name, assertionResults }) => [
  ...assertionResults.filter((test) => test.status === "failed").map(({ fullName }) => fullName),
  ...(assertionResults.length === 0 ? [relative(process.cwd(), name)] : []),
]);
for (const { assertionResults, message } of failed) {
  if (message) say(`\nFailed in the first run: ${message}`);
  for (const { status: first, fullName, failureMessages } of assertionResults) {
    if (first !== "failed") continue;
    say(`\nFailed in the first run: ${fullName}\n${failureMessages?.join("\n") ?? ""}`);
  }
}
say(
  status === 0
    ? "\nUnsteady: they passed in the second run."
    : `\nFailed in the second run: ${failedAgain.join("; ") || "what belongs to no test, see above"}`,
);
process.exitCode = status ?? 1;
