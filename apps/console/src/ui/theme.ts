export type Theme = 'system' | 'light' | 'dark';

const STORED = 'tidegate-theme';

/**
 * Runs before the first paint, so that no page appears in the wrong colours. Applies the chosen
 * theme. While none is chosen, it applies the system's theme and follows its changes.
 */
export const THEME_SCRIPT = `(()=>{const m=matchMedia('(prefers-color-scheme: dark)');const a=()=>{let t='system';try{t=localStorage.getItem('${STORED}')||t}catch{}const d=t==='dark'||(t!=='light'&&m.matches);const e=document.documentElement;e.classList.toggle('dark',d);e.classList.toggle('light',!d);e.dataset.theme=d?'dark':'light'};a();m.addEventListener('change',a);addEventListener('tidegate-theme',a)})()`;

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
