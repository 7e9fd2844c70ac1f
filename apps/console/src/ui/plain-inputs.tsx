import type { ComponentProps } from 'react';

interface PlainProps {
  readonly label: string;
  /** Its width from 640 px on. */
  readonly width: string;
}

const LABEL = 'block w-full text-xs text-muted';
const INPUT = 'input mt-1 h-10.5 w-full sm:h-9.5';

/** A labelled input of a plain form, which works before any script has loaded. */
export function PlainInput({ label, width, className = '', ...input }: PlainProps & ComponentProps<'input'>) {
  return (
    <label className={`${LABEL} ${width}`}>
      {label}
      <input {...input} className={`${INPUT} ${className}`} />
    </label>
  );
}

/**
 * A labelled choice of a plain form. Looks like the other choices. React replaces it when the
 * default value changes. Otherwise a link to the same page with another value would leave the old
 * choice.
 */
export function PlainSelect({ label, width, ...select }: PlainProps & ComponentProps<'select'>) {
  return (
    <label className={`${LABEL} ${width}`}>
      {label}
      <span className="relative block">
        <select
          key={String(select.defaultValue)}
          {...select}
          className={`${INPUT} appearance-none truncate pr-9`}
        />
        <span
          className="icon-chevron-down pointer-events-none absolute right-3 bottom-3 size-3.5 text-muted max-sm:bottom-3.5"
          aria-hidden
        />
      </span>
    </label>
  );
}
