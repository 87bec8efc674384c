import { PortcullisError, defineTool } from "portcullis";
import { z } from "zod";
import { readData } from "../read-data.ts";

const License = z.object({
  name: z.string(),
  url: z.string().optional(),
  osiApproved: z.boolean(),
  licenseText: z.string(),
});
const data = readData(new URL("licenses.json.br", import.meta.url));
const licenses = new Map(Object.entries(z.record(z.string(), License).parse(data)));

const listLicenses = defineTool({
  name: "licenses.list",
  description: "Ids and names of all SPDX licences, in the order of their ids",
  inputSchema: z.object({
    osiApproved: z.boolean().optional().describe("only those that OSI has approved, or has not"),
  }),
  outputSchema: z.array(z.object({ id: z.string(), name: z.string(), osiApproved: z.boolean() })),
  allowedCallers: ["direct", "programmatic"],
  effect: "read",
  execute: ({ osiApproved }) =>
    [...licenses]
      .filter(([, license]) => osiApproved === undefined || license.osiApproved === osiApproved)
      .map(([id, { name, osiApproved: approved }]) => ({ id, name, osiApproved: approved })),
});

const getLicense = defineTool({
  name: "licenses.get",
  description: "One SPDX licence with its full text",
  inputSchema: z.object({ id: z.string() }),
  outputSchema: License,
  allowedCallers: ["direct", "programmatic"],
  effect: "read",
  execute: ({ id }) => {
    const license = licenses.get(id);
    if (!license) throw new PortcullisError("tool_failed", `There is no licence ${id}: licenses.list gives the ids.`);
    return license;
  },
});

export default [listLicenses, getLicense];
