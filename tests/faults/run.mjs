// @ts-check
// Attacks the laws on real stacks: node tests/faults/run.mjs [--scenario NAME]... [--seed N] [--runs N] [--short] [--out FILE]
import { register } from 'node:module';

register('./typescript.mjs', import.meta.url);
await import('./campaign.ts');
