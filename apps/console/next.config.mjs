import { resolve } from 'node:path';

/** @type {import('next').NextConfig} */
export default {
  reactStrictMode: true,
  poweredByHeader: false,
  compress: true,
  // Types are checked by tsc before this build.
  typescript: { ignoreBuildErrors: true },
  outputFileTracingRoot: resolve(import.meta.dirname, '../..'),
  turbopack: { root: resolve(import.meta.dirname, '../..') },
  // A screen that a role does not open is answered 403.
  experimental: { authInterrupts: true },
  // main.ts owns everything that holds a connection and hands it over; nothing of it is bundled.
  serverExternalPackages: ['@tidegate/control', '@tidegate/db', '@tidegate/runtime', 'better-auth'],
};
