import { adviceOf, codeText } from '../errors/advice.ts';

/** What the shown error means, and what to do. */
export function CodeAdvice({ code }: { code: string }) {
  const { meaning, action } = adviceOf(code);
  return (
    <div className="card-surface mb-6 px-5 py-4 text-sm leading-6">
      <p className="font-mono text-xs text-muted">{codeText(code)}</p>
      <p className="mt-1">{meaning}</p>
      <p className="text-muted">{action}</p>
    </div>
  );
}
