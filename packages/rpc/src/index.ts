export { type CallOptions, callUnary, createLimiterClient, createRunnerClient } from './clients.ts';
export { limiterService, runnerService } from './definitions.ts';
export type * from './generated/index.ts';
export { type ServeOptions, type Serving, serveLimiter, serveRunner } from './serve.ts';
