import { resolve } from 'node:path';

/** @type {import('next').NextConfig} */
export default {
  reactStrictMode: true,
  poweredByHeader: false,
  compress: true,
  // No screen has images to scale. The endpoint that scales them answers anyone, and logs what it
  // was asked for verbatim, line breaks included.
  images: { unoptimized: true },
  // Types are checked by npm test.
  typescript: { ignoreBuildErrors: true },
  outputFileTracingRoot: resolve(import.meta.dirname, '../..'),
  turbopack: { root: resolve(import.meta.dirname, '../..') },
  // Answers 403 for a screen that the user's role may not see.
  experimental: { authInterrupts: true },
  // main.ts owns everything that holds a connection. So these packages are not bundled.
  serverExternalPackages: ['@tidegate/control', '@tidegate/db', '@tidegate/runtime', 'better-auth'],
};
