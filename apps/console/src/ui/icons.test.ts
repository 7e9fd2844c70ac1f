import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';

const src = join(import.meta.dirname, '..');
const { icons } = createRequire(import.meta.url)('@iconify-json/lucide/icons.json');

it('each icon that a screen names exists in the library', () => {
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.tsx'),
  );
  const named = files.flatMap(
    (file) => readFileSync(join(src, file), 'utf8').match(/\bicon-[a-z0-9-]+/g) ?? [],
  );
  expect(named.length).toBeGreaterThan(30);
  expect(named.filter((name) => !(name.slice('icon-'.length) in icons))).toEqual([]);
});
