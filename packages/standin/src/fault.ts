import type { Behaviour } from './behaviour.ts';

/** How an answer breaks off in its middle. */
export const FAULTS = ['stall', 'die', 'exit', 'inband-error', 'garbage'] as const;
export type Fault = (typeof FAULTS)[number];

export const faultOf = (behaviour: Behaviour): Fault | undefined => FAULTS.find((fault) => behaviour[fault]);

/** After how many tokens it breaks off: half of them, unless told. */
export const faultAfter = (behaviour: Behaviour, tokens: number): number =>
  behaviour.after ?? Math.floor(tokens / 2);

export const INBAND_ERROR = {
  error: { message: 'the engine died', type: 'InternalServerError', param: null, code: 500 },
};
