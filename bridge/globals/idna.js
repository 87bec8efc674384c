export { toASCII } from "tr46";
