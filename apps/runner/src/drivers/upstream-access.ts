/** What gateways need, beside its address, to call the server of a model. */
export interface UpstreamAccess {
  /** The name that they send. */
  readonly name: string;
  /** Nobody said that the server knows the model by this name: it is the one under which the model is published. */
  readonly nameAssumed: boolean;
  /** Bearer token; empty: none. */
  readonly key: string;
}
