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
/** Of the message of a failure, in characters. */
const MESSAGE = 1200;

interface Failed {
  name: string;
  message?: string;
  status: string;
  assertionResults: { status: string; fullName: string; failureMessages?: string[] }[];
}

interface Named {
  readonly title: string;
  readonly message: string;
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
const namesOf = ({ name, assertionResults, message }: Failed): readonly Named[] => {
  const tests = assertionResults.filter((test) => test.status === "failed");
  const ofFile = { title: relative(process.cwd(), name), message: message ?? "" };
  if (tests.length === 0) return [ofFile];
  return tests.map(({ fullName, failureMessages }) => ({
    title: fullName,
    message: failureMessages?.join("\n") ?? "",
  }));
};

/** The whole message stands above, where the reporter printed it: here it is the part that tells one failure from others. */
const shortened = (message: string) =>
  message.length <= MESSAGE ? message : `${message.slice(0, MESSAGE)} … ${message.length - MESSAGE} more characters`;

const tell = (run: string, files: readonly Failed[]) => {
  for (const { title, message } of files.flatMap(namesOf))
    say(`\nFailed in the ${run} run: ${title}\n${shortened(message)}`);
};

const failedAgain = failedFiles();
tell("first", failed);
tell("second", failedAgain);
if (status === 0) say("\nUnsteady: they passed in the second run.");
else if (failedAgain.length === 0) say("\nThe second run failed by what belongs to no test, see above.");
process.exitCode = status ?? 1;
