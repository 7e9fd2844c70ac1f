/**
 * Where a server tells whether it is up. Always at the server itself, because its key goes there
 * too: in a relative URL, `//host/x` and `/\host/x` would name another host.
 */
export const healthProbeUrl = (baseUrl: string, healthPath: string): URL =>
  new URL(new URL(baseUrl).origin + healthPath);
