import type { AuditFilter } from './filter.ts';

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
export function Filters({ filter }: { filter: AuditFilter }) {
  const known = NOUNS.some(([noun]) => noun === filter.action);
  const label = 'block text-xs text-muted';
  const input = 'input mt-1 w-full';
  return (
    <form method="get" className="mb-6 flex flex-wrap items-end gap-3" aria-label="Filter">
      <label className={`${label} w-full sm:w-60`}>
        Who
        <input
          name="actor"
          defaultValue={filter.actor}
          placeholder="E-mail, or ctl (name)"
          className={input}
        />
      </label>
      <label className={`${label} w-full sm:w-52`}>
        What
        <select name="action" defaultValue={filter.action} className={input}>
          {NOUNS.map(([noun, text]) => (
            <option key={noun} value={noun}>
              {text}
            </option>
          ))}
          {known ? null : <option value={filter.action}>{filter.action}</option>}
        </select>
      </label>
      <label className={`${label} w-36`}>
        From (UTC)
        <input name="from" type="date" defaultValue={filter.from} className={input} />
      </label>
      <label className={`${label} w-36`}>
        To (UTC)
        <input name="to" type="date" defaultValue={filter.to} className={input} />
      </label>
      <button type="submit" className="button button--secondary">
        Filter
      </button>
    </form>
  );
}
