// @ts-check
// Attacks the laws on real stacks. Build first. See README.md.
import { register } from 'node:module';

register('./typescript.mjs', import.meta.url);
await import('./campaign.ts');
