export { callFailure } from './call-failure.ts';
export { type CallOptions, callUnary, createLimiterClient, createRunnerClient } from './clients.ts';
export { limiterService, runnerService } from './definitions.ts';
export type * from './generated/index.ts';
export { PeerClients } from './peers/peer-clients.ts';
export { Peers, type PeersOptions } from './peers/peers.ts';
export type { Peer, ResolvePeers } from './peers/target.ts';
export { type ServeOptions, type Serving, serveLimiter, serveRunner } from './serve.ts';
