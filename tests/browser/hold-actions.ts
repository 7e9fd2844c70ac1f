import type { Page } from 'playwright-core';

/** Holds the actions of a page until the returned function is called. */
export async function holdActions(page: Page): Promise<() => Promise<void>> {
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route('**/*', async (route) => {
    if ('next-action' in route.request().headers()) await held;
    await route.continue();
  });
  return async () => {
    release();
    await page.unrouteAll({ behavior: 'wait' });
  };
}
