import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';

const SOURCES = fileURLToPath(new URL('..', import.meta.url));
const LIBRARY = join(
  dirname(createRequire(import.meta.url).resolve('@heroui/styles/package.json')),
  'dist/components',
);

/** What screens import from the component library, in lower case: `textfield`, `alertdialog`. */
function imported(): Set<string> {
  const screens = readdirSync(SOURCES, { encoding: 'utf8', recursive: true }).filter((file) =>
    file.endsWith('.tsx'),
  );
  const names = screens.flatMap((file) =>
    [...readFileSync(join(SOURCES, file), 'utf8').matchAll(/import \{([^}]+)\} from '@heroui\/react'/g)]
      .flatMap(([, list = '']) => list.split(','))
      .map((name) =>
        name
          .replace(/ as .*/, '')
          .trim()
          .toLowerCase(),
      ),
  );
  return new Set(names.filter((name) => name !== ''));
}

describe('heroui.css', () => {
  it('has the style sheet of every component that a screen imports', () => {
    const used = imported();
    const sheets = readdirSync(LIBRARY).filter(
      (file) => file.endsWith('.css') && used.has(file.replace(/-|\.css$/g, '')),
    );
    expect(sheets).toContain('button.css');
    const styles = readFileSync(join(SOURCES, 'app/heroui.css'), 'utf8');
    for (const sheet of sheets) expect(styles).toContain(`@import "@heroui/styles/components/${sheet}"`);
  });
});
