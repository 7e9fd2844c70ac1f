export type { Behaviour } from './behaviour.ts';
export { type Standin, type StandinOptions, startStandin } from './server.ts';
export type { Stats } from './stats.ts';
