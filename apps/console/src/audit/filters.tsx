import { Link } from '../ui/link.tsx';
import { PlainInput, PlainSelect } from '../ui/plain-inputs.tsx';
import { type AuditFilter, auditQueryOf } from './filter.ts';

const NOUNS = [
  ['', 'All actions'],
  ['key', 'Keys'],
  ['model', 'Models'],
  ['member', 'Members'],
  ['account', 'Accounts and sign-ins'],
  ['org', 'The organization'],
  ['plan', "The plan's limits"],
  ['pool', 'Pools'],
] as const;

/** A plain form: it works before any script has loaded, and its query can be kept as a link. */
export function AuditFilters({ path, filter }: { path: string; filter: AuditFilter }) {
  const known = NOUNS.some(([noun]) => noun === filter.action);
  return (
    <form method="get" className="mb-6 flex flex-wrap items-end gap-3" aria-label="Filter">
      <PlainInput
        label="Who"
        width="sm:w-60"
        name="actor"
        defaultValue={filter.actor}
        placeholder="E-mail, or ctl (name)"
      />
      <PlainSelect label="What" width="sm:w-52" name="action" defaultValue={filter.action}>
        {NOUNS.map(([noun, text]) => (
          <option key={noun} value={noun}>
            {text}
          </option>
        ))}
        {known ? null : <option value={filter.action}>{filter.action}</option>}
      </PlainSelect>
      <PlainInput label="From (UTC)" width="sm:w-36" name="from" type="date" defaultValue={filter.from} />
      <PlainInput label="To (UTC)" width="sm:w-36" name="to" type="date" defaultValue={filter.to} />
      <button type="submit" className="button button--secondary">
        Filter
      </button>
      {auditQueryOf(filter) === '' ? null : (
        <Link href={path} className="button button--ghost">
          Show all
        </Link>
      )}
    </form>
  );
}
