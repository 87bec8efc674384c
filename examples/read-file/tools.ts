import { fileURLToPath } from "node:url";
import { workspaceTools } from "portcullis/workspace";

export default workspaceTools({ root: fileURLToPath(new URL("files", import.meta.url)), allowedCallers: ["direct"] });
