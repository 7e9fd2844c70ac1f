import type { ControlRefusal, ModelCheck } from '@tidegate/control';
import { useEffect, useRef } from 'react';
import { Note } from '../ui/page.tsx';

interface CheckResultProps {
  /** Null: nothing has been checked, or not what is typed now. */
  readonly check: ModelCheck | null;
  /** What may be done even though calls cannot work now. Null: nothing yet. */
  readonly anyway: 'publish' | 'save' | null;
}

/** Whether a check was refused although no field is at fault, so that it may be overruled. */
export const isOverrulable = (refusal: ControlRefusal | null): boolean =>
  refusal?.field === undefined && (refusal?.code === 'unavailable' || refusal?.code === 'limit_reached');

/** What a check found, as sentences. */
export const textOfCheck = ({ findings }: ModelCheck): string => findings.map(({ text }) => text).join(' ');

/** What a check of servers found. Screen readers announce it. */
export function CheckResult({ check, anyway }: CheckResultProps) {
  const shown = useRef<HTMLDivElement>(null);
  // The dialog scrolls, and the button that saves may be far from the result.
  useEffect(() => {
    if (check && anyway) shown.current?.scrollIntoView({ block: 'nearest' });
  }, [check, anyway]);
  return (
    <div role="status" ref={shown}>
      {check?.ok === true ? <Findings check={check} className="mt-3 text-sm leading-6 text-muted" /> : null}
      {check?.ok === false ? (
        <Note kind="warning" className="mt-3">
          <Findings check={check} />
          {anyway ? (
            <p className="mt-1">You can {anyway} it anyway. It runs when its servers can be called.</p>
          ) : null}
        </Note>
      ) : null}
    </div>
  );
}

function Findings({ check: { findings }, className = '' }: { check: ModelCheck; className?: string }) {
  return (
    <ul className={`space-y-1 wrap-anywhere ${className}`}>
      {findings.map(({ url, text }) => (
        <li key={url}>
          {findings.length > 1 ? <span className="block font-mono text-xs">{url}</span> : null}
          {text}
        </li>
      ))}
    </ul>
  );
}
