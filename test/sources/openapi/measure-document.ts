import { readData } from "../../../examples/read-data.ts";
import { fromOpenApi } from "../../../src/sources/openapi/from-openapi.ts";

/** Run in a process of its own, with the URL of a document: prints what becomes of it, and what that takes. */
const [url = ""] = process.argv.slice(2);
const spec = JSON.stringify(readData(new URL(url)));
const startedMs = performance.now();
const { tools, problems } = await fromOpenApi(
  { name: "api", spec, baseUrl: "https://api.example.com" },
  { allowedCallers: ["programmatic"] },
);
const seconds = (performance.now() - startedMs) / 1000;
const megabytes = process.resourceUsage().maxRSS / 1024;
// The first that is called or shown is made then.
let broken = 0;
for (const { input, output } of tools.slice(0, 200))
  for (const schema of [input, output])
    try {
      await schema?.["~standard"].validate({});
    } catch {
      broken += 1;
    }
process.stdout.write(
  JSON.stringify({
    characters: spec.length,
    tools: tools.length,
    names: tools.map(({ name }) => name),
    problems,
    broken,
    seconds,
    megabytes,
  }),
);
