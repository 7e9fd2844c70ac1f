export type { Asking } from './ask.ts';
export { type DescribedModel, type DescribedServer, describeServer } from './describe.ts';
export { readText, sendRequest } from './send-request.ts';
