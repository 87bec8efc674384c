export { FOUND_DEFAULT, FOUND_MAX, QUERY_LENGTH, SEARCH_INPUT, type SearchInput } from "./search-tool.ts";
export { type FoundTool, ToolSearch } from "./tool-search.ts";
export { toolStub } from "../declarations/declarations.ts";
