import type { Behaviour } from './behaviour.ts';

/** The ways in which an answer can break off. */
export const FAULTS = ['stall', 'die', 'exit', 'inband-error', 'garbage'] as const;
export type StandinFault = (typeof FAULTS)[number];

export const faultOf = (behaviour: Behaviour): StandinFault | undefined =>
  FAULTS.find((fault) => behaviour[fault]);

/** After how many tokens the answer breaks off. Default: half of them. */
export const faultAfter = (behaviour: Behaviour, tokens: number): number =>
  behaviour.after ?? Math.floor(tokens / 2);

export const INBAND_ERROR = {
  error: { message: 'the engine died', type: 'InternalServerError', param: null, code: 500 },
};
