/** Identifies an admission in every later call about it. */
export interface AdmissionRef {
  readonly orgId: string;
  readonly instanceId: string;
  readonly admissionId: string;
}
