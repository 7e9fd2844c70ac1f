import type { KeyDetail, RefusalsView } from '@tidegate/control';
import { Link } from '../ui/link.tsx';
import { whole } from '../ui/numbers.ts';
import { Panel } from '../ui/page.tsx';
import { CausesTable } from './refusals-tables.tsx';

interface RefusedOfKeyProps {
  readonly org: string;
  readonly keyShown: KeyDetail;
  /** Of the key, in the last 24 hours. */
  readonly refusals: RefusalsView;
}

/** Why requests of one key were refused. */
export function RefusedOfKey({ org, keyShown, refusals }: RefusedOfKeyProps) {
  const all = (
    <Link href={`/o/${org}/requests/errors#refused`} className="inline-link">
      Refusals of all keys
    </Link>
  );
  if (refusals.total === 0)
    return (
      <Panel title="Refused" lead={all}>
        <p className="px-5 pb-6 text-sm text-muted">
          No request of this key was refused in the last 24 hours.
        </p>
      </Panel>
    );
  return (
    <Panel
      title={`${whole(refusals.total)} refused in the last 24 hours`}
      lead={<>They count towards no usage, quota or limit. {all}</>}
    >
      <CausesTable org={org} refusals={refusals} ofKey={keyShown} />
    </Panel>
  );
}
