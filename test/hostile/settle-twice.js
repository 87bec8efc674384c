// Tries: to settle three times, by a thenable that contradicts itself.
// Ends: completed "first"
return {
  then(resolve, reject) {
    resolve("first");
    reject(new Error("second"));
    throw new Error("third");
  },
};
