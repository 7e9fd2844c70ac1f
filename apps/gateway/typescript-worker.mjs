import { readFile } from 'node:fs/promises';
import { register } from 'node:module';
import { isMainThread } from 'node:worker_threads';

/*
 * Only for tests, which run the gateway without compiling it. Lets a worker thread import the
 * workspace's TypeScript, as jest does for the main thread. Preloaded with --import, this file
 * registers itself as module hooks.
 */
if (!isMainThread) register(import.meta.url);

/** @type {import('node:module').ResolveHook} */
export const resolve = (specifier, context, next) =>
  next(specifier, { ...context, conditions: ['tidegate-source', ...context.conditions] });

/** @type {import('node:module').LoadHook} */
export const load = async (url, context, next) => {
  if (!url.endsWith('.ts')) return next(url, context);
  const { transform } = await import('@swc/core');
  const { code } = await transform(await readFile(new URL(url), 'utf8'), {
    jsc: { target: 'es2023', parser: { syntax: 'typescript' } },
    module: { type: 'es6' },
    swcrc: false,
  });
  return { format: 'module', source: code, shortCircuit: true };
};
