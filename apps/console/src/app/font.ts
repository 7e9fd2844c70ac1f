import local from 'next/font/local';

/**
 * Loaded before the first paint. If it arrives too late, the page keeps the system's font, because
 * changing it would move everything.
 */
const latin = local({
  src: '../../../../node_modules/@fontsource-variable/inter/files/inter-latin-wght-normal.woff2',
  weight: '100 900',
  display: 'optional',
  variable: '--font-latin',
  fallback: [],
});

/** Letters that few names contain. This font is not preloaded. */
const latinExt = local({
  src: '../../../../node_modules/@fontsource-variable/inter/files/inter-latin-ext-wght-normal.woff2',
  weight: '100 900',
  display: 'optional',
  preload: false,
  variable: '--font-latin-ext',
  declarations: [
    {
      prop: 'unicode-range',
      value:
        'U+0100-02BA, U+02BD-02C5, U+02C7-02CC, U+02CE-02D7, U+02DD-02FF, U+1E00-1E9F, U+1EF2-1EFF, U+20A0-20C0',
    },
  ],
});

/** Class of the root element. It defines the style sheet's font variables. */
export const FONT_VARIABLES = `${latin.variable} ${latinExt.variable}`;
