export type { Asking } from './ask.ts';
export { type DescribedModel, type DescribedServer, describeServer } from './describe.ts';
export { readText, SilentServer, sendRequest } from './send-request.ts';
