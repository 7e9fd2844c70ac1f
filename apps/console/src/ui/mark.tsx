/** The logo: a gate with the tide running through it. */
export function Mark({ className = 'size-8' }: { className?: string }) {
  return (
    <svg viewBox="0 0 32 32" className={className} aria-hidden="true" fill="none">
      <rect width="32" height="32" rx="9" className="fill-accent" />
      <g stroke="var(--accent-foreground)" strokeWidth="2.1" strokeLinecap="round">
        <path d="M7 12.5c2.2-2.2 4.4-2.2 6.6 0s4.4 2.2 6.6 0 3.6-2 4.8-1.3" />
        <path d="M7 18c2.2-2.2 4.4-2.2 6.6 0s4.4 2.2 6.6 0 3.6-2 4.8-1.3" opacity=".78" />
        <path d="M7 23.5c2.2-2.2 4.4-2.2 6.6 0s4.4 2.2 6.6 0 3.6-2 4.8-1.3" opacity=".5" />
      </g>
    </svg>
  );
}
