const SELECTOR = ':is(a[href], button, input, select, textarea)';
const SLACK_PX = 1;

/**
 * Runs inside a page. Finds actions within `area` that are cut off or covered, and whether the page
 * is wider than the screen.
 *
 * @param {{ area: string, selector: string, slackPx: number }} options
 * @returns {string[]}
 */
function find({ area, selector, slackPx }) {
  const wide = document.documentElement.scrollWidth;
  const found = wide > innerWidth ? [`the page is ${wide} pixels wide`] : [];
  const isShown = (one) =>
    one.checkVisibility({ visibilityProperty: true, opacityProperty: true }) &&
    // Skips what is only for screen readers, or drawn by its surroundings.
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
  // This scrolls, so it comes after all checks of edges.
  for (const one of shown) {
    one.scrollIntoView({ block: 'center', inline: 'nearest' });
    const { x, y, width, height } = one.getBoundingClientRect();
    const hit = document.elementFromPoint(x + width / 2, y + height / 2);
    if (!hit || !(one.contains(hit) || hit.contains(one))) found.push(`${nameOf(one)}: covered`);
  }
  return found;
}

/**
 * Describes every action within `area` that is not fully visible or cannot be clicked without
 * scrolling sideways.
 *
 * @param {import('playwright-core').Page} page
 * @param {string} area
 * @returns {Promise<string[]>}
 */
export const outOfReach = (page, area) =>
  page.evaluate(find, { area, selector: SELECTOR, slackPx: SLACK_PX });
