/*
 * The wrapper is imported, and not the main module, which would add a validator.
 */
import wrapper from "whatwg-url/webidl2js-wrapper.js";

const realm = { Array, Object, Promise, String, TypeError };
wrapper.URL.install(realm, ["Window"]);
wrapper.URLSearchParams.install(realm, ["Window"]);

export const { URL, URLSearchParams } = realm;
