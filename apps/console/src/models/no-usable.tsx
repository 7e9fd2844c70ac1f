import { Note } from '../ui/page.tsx';

interface NoUsableProps {
  /** The number of models. None of them can answer. */
  readonly count: number;
  /** How the message names them. */
  readonly which?: string;
  readonly mayChange: boolean;
  /** The screen where models are published and started. */
  readonly href: string;
  readonly where: string;
  /**
   * Set on a page that shows something only once. Following the link must not replace that page.
   */
  readonly newTab?: boolean;
  readonly className?: string;
}

/** Shown in place of a model. Says that none can answer and what to do about it. */
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
          <a href={href} className="inline-link" {...(newTab ? { target: '_blank', rel: 'noreferrer' } : {})}>
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
