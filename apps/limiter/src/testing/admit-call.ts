import { newRequestId } from '@tidegate/contracts';
import type { AdmitCall } from '../admission/admit.ts';

export const anAdmitCall = (
  key: Pick<AdmitCall, 'orgId' | 'keyId'>,
  instanceId: string,
  more: Partial<AdmitCall> = {},
): AdmitCall => ({
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
