// @ts-check
// Attacks the laws on real stacks, which are built: see README.md.
import { register } from 'node:module';

register('./typescript.mjs', import.meta.url);
await import('./campaign.ts');
