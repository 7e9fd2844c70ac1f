import { newRequestId } from '@tidegate/contracts';
import type { AdmitInput } from '../admission/admit.ts';

export const anAdmitInput = (
  key: Pick<AdmitInput, 'orgId' | 'keyId'>,
  instanceId: string,
  more: Partial<AdmitInput> = {},
): AdmitInput => ({
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
