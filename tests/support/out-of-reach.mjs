const SELECTOR = ':is(a[href], button, input, select, textarea)';
const SLACK_PX = 1;

/**
 * Runs in a page, on its own: what of the actions within `area` is cut off by an edge or covered, and what is wider than the
 * screen.
 *
 * @param {{ area: string, selector: string, slackPx: number }} options
 * @returns {string[]}
 */
function find({ area, selector, slackPx }) {
  const wide = document.documentElement.scrollWidth;
  const found = wide > innerWidth ? [`the page is ${wide} pixels wide`] : [];
  const isShown = (one) =>
    one.checkVisibility({ visibilityProperty: true, opacityProperty: true }) &&
    // What is there for screen readers only, or is drawn by what surrounds it.
    one.closest('[aria-hidden=true], .sr-only, [data-slot=checkbox]') === null;
  const nameOf = (one) => (one.getAttribute('aria-label') ?? one.textContent).slice(0, 40) || one.id;
  const shown = [...document.querySelectorAll(`${area} ${selector}`)].filter(isShown);
  for (const one of shown) {
    const name = nameOf(one);
    const { left, right } = one.getBoundingClientRect();
    if (left < -slackPx || right > innerWidth + slackPx) found.push(`${name}: beyond the screen`);
    for (let box = one.parentElement; box && box !== document.body; box = box.parentElement) {
      if (getComputedStyle(box).overflowX === 'visible') continue;
      const edge = box.getBoundingClientRect();
      if (left < edge.left - slackPx || right > edge.right + slackPx) found.push(`${name}: cut off`);
    }
  }
  // This scrolls, so it comes after all edges.
  for (const one of shown) {
    one.scrollIntoView({ block: 'center', inline: 'nearest' });
    const { x, y, width, height } = one.getBoundingClientRect();
    const hit = document.elementFromPoint(x + width / 2, y + height / 2);
    if (!hit || !(one.contains(hit) || hit.contains(one))) found.push(`${nameOf(one)}: covered`);
  }
  return found;
}

/**
 * Every action within `area` that cannot be seen whole and pressed without scrolling sideways, in words.
 *
 * @param {import('playwright-core').Page} page
 * @param {string} area
 * @returns {Promise<string[]>}
 */
export const outOfReach = (page, area) =>
  page.evaluate(find, { area, selector: SELECTOR, slackPx: SLACK_PX });
