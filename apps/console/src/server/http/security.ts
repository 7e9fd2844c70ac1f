interface Origins {
  readonly consoleUrl: string;
  /** Other origins to which the answer to a form may lead. */
  readonly formOrigins: readonly string[];
}

/**
 * What a browser may do with a page. Scripts need the nonce, or must be loaded by a script that has
 * it. Style attributes are allowed because charts and overlays position themselves with them. Style
 * elements need the nonce. Style sheets need it too, unless they come from this server.
 */
export function securityHeaders(nonce: string, { consoleUrl, formOrigins }: Origins): Record<string, string> {
  const https = consoleUrl.startsWith('https://');
  const policy = [
    "default-src 'self'",
    `script-src 'self' 'nonce-${nonce}' 'strict-dynamic'`,
    `style-src 'self' 'nonce-${nonce}'`,
    "style-src-attr 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self'",
    "connect-src 'self'",
    "object-src 'none'",
    "base-uri 'none'",
    ["form-action 'self'", ...formOrigins].join(' '),
    "frame-ancestors 'none'",
    ...(https ? ['upgrade-insecure-requests'] : []),
  ];
  return {
    'content-security-policy': policy.join('; '),
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    // With no-referrer, forms sent without scripts would not send their origin.
    'referrer-policy': 'same-origin',
    'permissions-policy': 'camera=(), microphone=(), geolocation=(), payment=(), usb=()',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    ...(https ? { 'strict-transport-security': 'max-age=31536000' } : {}),
  };
}
