// Tries: to make every object a thenable, so that the guest's own answers call it.
// Ends: completed "mine"
Object.prototype.then = function (resolve) {
  delete Object.prototype.then;
  resolve("mine");
};
return await tools.read({ id: 1 });
