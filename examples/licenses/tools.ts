import { createRequire } from "node:module";
import { PortcullisError, defineTool } from "portcullis";
import { z } from "zod";

const require = createRequire(import.meta.url);

const Entry = z.object({ name: z.string(), url: z.string().optional(), osiApproved: z.boolean() });
const licenses = new Map(Object.entries(z.record(z.string(), Entry).parse(require("spdx-license-list/spdx.json"))));

const listLicenses = defineTool({
  name: "licenses.list",
  description: "Ids and names of all SPDX licences, in the order of their ids",
  input: z.object({ osiApproved: z.boolean().optional().describe("only those that OSI has approved, or has not") }),
  output: z.array(z.object({ id: z.string(), name: z.string(), osiApproved: z.boolean() })),
  allowedCallers: ["direct", "programmatic"],
  effect: "read",
  handler: ({ osiApproved }) =>
    [...licenses]
      .filter(([, license]) => osiApproved === undefined || license.osiApproved === osiApproved)
      .map(([id, { name, osiApproved: approved }]) => ({ id, name, osiApproved: approved })),
});

const getLicense = defineTool({
  name: "licenses.get",
  description: "One SPDX licence with its full text",
  input: z.object({ id: z.string() }),
  output: Entry.extend({ licenseText: z.string() }),
  allowedCallers: ["direct", "programmatic"],
  effect: "read",
  handler: ({ id }) => {
    if (!licenses.has(id))
      throw new PortcullisError("tool_failed", `There is no licence ${id}: licenses.list gives the ids.`);
    return require(`spdx-license-list/licenses/${id}.json`);
  },
});

export default [listLicenses, getLicense];
