import { Note } from '../ui/page.tsx';

interface NoUsableProps {
  /** How many there are, of which none can answer. */
  readonly count: number;
  /** Which these are. */
  readonly which?: string;
  readonly mayChange: boolean;
  /** Where models are published and started. */
  readonly href: string;
  readonly where: string;
  /** What is on the page is shown this once. */
  readonly newTab?: boolean;
  readonly className?: string;
}

/** In place of a model to show: that there is none, and what to do about it. */
export function NoUsable({
  count,
  which = 'all',
  mayChange,
  href,
  where,
  newTab = false,
  className = '',
}: NoUsableProps) {
  const toDo = count === 0 ? 'publish' : 'start';
  return (
    <Note kind="warning" className={className}>
      {count === 0
        ? 'No model is published yet.'
        : `No model can answer now: ${which} are stopped or have failed.`}{' '}
      {mayChange ? (
        <>
          <a
            href={href}
            className="font-medium text-accent underline underline-offset-4"
            {...(newTab ? { target: '_blank', rel: 'noreferrer' } : {})}
          >
            {toDo === 'start' ? 'Start' : 'Publish'} one {where}
          </a>
          .
        </>
      ) : (
        `Ask an owner to ${toDo} one.`
      )}
    </Note>
  );
}
