// Preloaded by the workers that run tests and by the services of test stacks. V8 then optimizes a
// function about fifteen times later. NODE_OPTIONS does not accept the flag itself, and later
// releases of V8 do not have it.
if (process.versions.node.startsWith('20.')) {
  require('node:v8').setFlagsFromString('--interrupt-budget=1000000');
}
