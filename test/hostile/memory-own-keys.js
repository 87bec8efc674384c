// Tries: to have a proxy name more keys than can be listed.
// Ends: stopped memoryBytes | stopped cpuMs
const names = [];
const proxy = new Proxy({}, {
  ownKeys() {
    for (let index = 0; index < 1e7; index += 1) names.push(`name ${index}`);
    return names;
  },
  getOwnPropertyDescriptor: () => ({ value: 1, enumerable: true, configurable: true }),
});
return proxy;
