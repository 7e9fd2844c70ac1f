export { type Exit, exitOf, stopChild } from './child.ts';
export { type Command, diesWithParent, findOnPath, isExecutable } from './command.ts';
export { endGroup, signal } from './group.ts';
export { identify, isAlive, type KnownProcess } from './identity.ts';
export { until } from './until.ts';
export { canExecute, canRead, findUser, type SystemUser, UNPRIVILEGED } from './user.ts';
