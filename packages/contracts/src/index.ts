export * from './api-key.ts';
export {
  CONDITIONS,
  type Condition,
  conditionFromWire,
  KEPT_CONDITIONS,
  WIRE_CONDITIONS,
} from './condition.ts';
export * from './errors.ts';
export * from './ids.ts';
export * from './image-types.ts';
export * from './lease.ts';
export * from './pools.ts';
export * from './redis-keys.ts';
export * from './refusal-report.ts';
export {
  type CompletionRequest,
  validateCompletionRequest,
} from './request/completion-request.ts';
export type { InlineImage, LinkedImage } from './request/image-url.ts';
export type { MessageSegment } from './request/messages.ts';
export { buildUpstreamBody } from './request/upstream-body.ts';
export * from './sealed.ts';
export * from './services.ts';
export * from './settlement.ts';
