export { StackError } from './errors.ts';
export type { ServiceInfo, StackInfo } from './info.ts';
export type { ServiceName } from './instances.ts';
export type { Scalable, StackOptions, StackReport } from './options.ts';
export { type Stack, startStack } from './stack.ts';
