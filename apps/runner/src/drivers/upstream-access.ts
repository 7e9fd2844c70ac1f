/** What gateways need, besides the address, to call a model's server. */
export interface UpstreamAccess {
  /** The name to send. */
  readonly name: string;
  /** Nobody gave the model's name on the server, so it is assumed to be the published name. */
  readonly nameAssumed: boolean;
  /** The bearer token. Empty: none. */
  readonly key: string;
}
