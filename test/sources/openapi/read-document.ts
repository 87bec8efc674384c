import { readData } from "../../../examples/read-data.ts";
import { fromOpenApi } from "../../../src/sources/openapi/from-openapi.ts";

/** Run in a process of its own, with the URL of a document and whether tools are made of it: prints its memory in megabytes. */
const [url = "", made] = process.argv.slice(2);
const spec = JSON.stringify(readData(new URL(url)));
if (made === "tools")
  await fromOpenApi({ name: "api", spec, baseUrl: "https://api.example.com" }, { allowedCallers: ["programmatic"] });
else JSON.parse(spec);
process.stdout.write(String(process.resourceUsage().maxRSS / 1024));
