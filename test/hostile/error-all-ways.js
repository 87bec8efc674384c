// Tries: to get host data out of errors: message, cause, stack, own fields, by every way a handler can fail.
// Ends: completed {"codes":["handler_failed","handler_failed","handler_failed","handler_failed","handler_failed","handler_failed","output_invalid"],"fields":["code","message","name","stack","tool"]}
const codes = [];
const fields = new Set();
for (const how of ["error", "cause", "getter", "string", "rejection", "public", "result"]) {
  try {
    await tools.fail({ how });
  } catch (error) {
    codes.push(error.code);
    for (const key of Reflect.ownKeys(error)) {
      fields.add(String(key));
      console.log(String(key), error[key], error.cause);
    }
    console.error(error, JSON.stringify(error), String(error), error.stack);
  }
}
return { codes, fields: [...fields].sort() };
