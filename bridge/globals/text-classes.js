/** What a package takes for the globals of these names, so that it does not depend on what a program assigns to them. */
export { TextDecoder, TextEncoder } from "part:text";
