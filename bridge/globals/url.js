/*
 * The wrapper is taken, and not the package's main module, which holds a validator besides.
 */
import wrapper from "whatwg-url/webidl2js-wrapper.js";

const realm = { Array, Object, Promise, String, TypeError };
wrapper.URL.install(realm, ["Window"]);
wrapper.URLSearchParams.install(realm, ["Window"]);

export const { URL, URLSearchParams } = realm;
