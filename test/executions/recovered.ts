import type { Report, Runtime } from "../../src/index.ts";

/** The reports of a recovery in which every execution can be taken up. */
export async function recovered(runtime: Runtime): Promise<readonly Report[]> {
  const reports: Report[] = [];
  for await (const one of runtime.recover()) {
    if ("error" in one) throw one.error;
    reports.push(one);
  }
  return reports;
}
