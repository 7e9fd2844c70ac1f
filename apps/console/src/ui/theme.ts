export type Theme = 'system' | 'light' | 'dark';

export const STORED = 'tidegate-theme';

/**
 * Applies the chosen theme. While none is chosen, it applies the system's theme and follows its
 * changes. Pages print in the light theme, because paper is white. This function becomes the text
 * of a script, so it may use nothing but its parameter.
 */
export function followTheme(stored: string): void {
  const system = matchMedia('(prefers-color-scheme: dark)');
  const print = matchMedia('print');
  const apply = () => {
    let theme = 'system';
    try {
      theme = localStorage.getItem(stored) || theme;
    } catch {
      // Storage is disabled.
    }
    const isDark = !print.matches && (theme === 'dark' || (theme !== 'light' && system.matches));
    const page = document.documentElement;
    page.classList.toggle('dark', isDark);
    page.classList.toggle('light', !isDark);
    page.dataset.theme = isDark ? 'dark' : 'light';
  };
  apply();
  system.addEventListener('change', apply);
  print.addEventListener('change', apply);
  addEventListener('tidegate-theme', apply);
}

/** Runs before the first paint, so that no page appears in the wrong colours. */
export const THEME_SCRIPT = `(${followTheme})('${STORED}')`;

export function storedTheme(): Theme {
  try {
    const stored = localStorage.getItem(STORED);
    return stored === 'light' || stored === 'dark' ? stored : 'system';
  } catch {
    return 'system';
  }
}

export function setTheme(theme: Theme): void {
  try {
    if (theme === 'system') localStorage.removeItem(STORED);
    else localStorage.setItem(STORED, theme);
  } catch {
    // Storage is disabled, so the choice cannot be kept.
  }
  dispatchEvent(new Event('tidegate-theme'));
}
