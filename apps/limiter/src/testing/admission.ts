import { newRequestId } from '@tidegate/contracts';
import type { Admission } from '../admission/admit.ts';

export const anAdmission = (
  key: Pick<Admission, 'orgId' | 'keyId'>,
  instanceId: string,
  more: Partial<Admission> = {},
): Admission => ({
  orgId: key.orgId,
  keyId: key.keyId,
  instanceId,
  admissionId: newRequestId(),
  modelId: 'mdl_test',
  contextTokens: 1_000,
  hasImages: false,
  streamed: false,
  reserve: true,
  ...more,
});
