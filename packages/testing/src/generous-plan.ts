import { eachPlanLimit } from '@tidegate/limits';

/** The most that a plan may allow, for tests and benches whose requests no limit should meet. */
export const generousPlan = () => ({ ...eachPlanLimit((_name, { max }) => max), images: true });
