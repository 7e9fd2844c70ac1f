/**
 * Where a server says whether it is up. Always on the server itself, because its key goes there
 * too: as relative URLs, `//host/x` and `/\host/x` would name another host.
 */
export const healthProbeUrl = (baseUrl: string, healthPath: string): URL =>
  new URL(new URL(baseUrl).origin + healthPath);
