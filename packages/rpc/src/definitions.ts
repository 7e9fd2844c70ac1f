import { fileURLToPath } from 'node:url';
import { loadPackageDefinition, type ServiceDefinition } from '@grpc/grpc-js';
import { loadSync, type Options } from '@grpc/proto-loader';
import type { LimiterDefinition, LimiterProto, RunnerDefinition, RunnerProto } from './generated/index.ts';

/** generate.mjs generates the types for exactly these options. */
const options: Options = { keepCase: false, longs: Number, enums: String, defaults: true, oneofs: true };

const load = (name: string): unknown =>
  loadPackageDefinition(
    loadSync(fileURLToPath(new URL(`../../../proto/${name}.proto`, import.meta.url)), options),
  );

const limiterProto = load('limiter') as LimiterProto;
const runnerProto = load('runner') as RunnerProto;

export const LimiterStub = limiterProto.tidegate.limiter.v1.Limiter;
export const RunnerStub = runnerProto.tidegate.runner.v1.Runner;

/** For `server.addService`. */
export const limiterService = LimiterStub.service satisfies ServiceDefinition as LimiterDefinition;
export const runnerService = RunnerStub.service satisfies ServiceDefinition as RunnerDefinition;
