import { Input } from '@heroui/react';

interface FilterInputProps {
  readonly label: string;
  readonly placeholder: string;
  readonly value: string;
  /** Called before it is used. */
  readonly onFocus?: () => void;
  readonly onChange: (value: string) => void;
}

/** Finds rows of a list by what is typed. */
export const FilterInput = ({ label, placeholder, value, onFocus, onChange }: FilterInputProps) => (
  <div className="relative min-w-44 flex-1 sm:max-w-64">
    <span
      className="icon-search pointer-events-none absolute top-1/2 left-3 z-10 size-4 -translate-y-1/2 text-muted"
      aria-hidden
    />
    <Input
      fullWidth
      className="pl-9"
      aria-label={label}
      placeholder={placeholder}
      value={value}
      onFocus={onFocus}
      onChange={(event) => onChange(event.target.value)}
      // In a form, Enter would submit it.
      onKeyDown={(event) => event.key === 'Enter' && event.preventDefault()}
    />
  </div>
);
