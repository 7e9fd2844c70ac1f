// @ts-check
import { createRequire } from 'node:module';
import plugin from 'tailwindcss/plugin';

/** @type {{ icons: Record<string, { body: string }> }} */
const { icons } = createRequire(import.meta.url)('@iconify-json/lucide/icons.json');

/**
 * An icon as a mask: only its shape counts.
 *
 * @param {string} name
 */
const maskOf = (name) =>
  `url("data:image/svg+xml,${encodeURIComponent(
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24">${icons[name]?.body}</svg>`,
  )}")`;

/** `icon-NAME`: a Lucide icon in the colour of the text. Another class sets its size. */
export default plugin(({ matchUtilities }) => {
  matchUtilities(
    {
      icon: (name) => ({
        display: 'block',
        'flex-shrink': '0',
        'background-color': 'currentColor',
        mask: `${maskOf(name)} center / 100% 100% no-repeat`,
        // In forced-colours mode the browser would otherwise replace the background, and so the
        // icon's colour.
        'forced-color-adjust': 'preserve-parent-color',
      }),
    },
    { values: Object.fromEntries(Object.keys(icons).map((name) => [name, name])) },
  );
});
