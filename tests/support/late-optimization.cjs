// Preloaded by the services of test stacks. V8 then optimizes a function about eight times later.
// NODE_OPTIONS does not accept the flag itself.
require('node:v8').setFlagsFromString('--interrupt-budget=1000000');
