import { limitsText, type RefusalsView } from '@tidegate/control';
import { codeText } from '../errors/advice.ts';
import { CountRow, CountTable } from '../errors/count-table.tsx';
import { Link } from '../ui/link.tsx';
import { whole } from '../ui/numbers.ts';
import { Table } from '../ui/table.tsx';
import { HourOf } from '../ui/time.tsx';
import { type Limits, wordsOf } from './words.ts';

interface CausesProps {
  readonly org: string;
  readonly refusals: RefusalsView;
  /** The key that the page is about. */
  readonly ofKey?: Limits['key'];
}

/** Each cause with what it means and what to do. */
export function CausesTable({ org, refusals: { causes, plan }, ofKey = null }: CausesProps) {
  return (
    <Table label="Refusals by cause" cardsBelow="4xl" className="border-t border-border">
      <thead>
        <tr>
          <th scope="col" className="w-56">
            Cause
          </th>
          <th scope="col" className="number w-24">
            Refused
          </th>
          <th scope="col" className="w-32">
            First, last
          </th>
          <th scope="col">What it means</th>
          <th scope="col">What to do</th>
        </tr>
      </thead>
      <tbody>
        {causes.map(({ code, cause, refusals, firstHour, lastHour }) => {
          const { title, meaning, action, helps } = wordsOf(cause ?? code, { plan, key: ofKey });
          return (
            <tr key={cause ?? code}>
              <th scope="row" className="align-top whitespace-normal">
                {title}
                <code className="block font-mono text-xs font-normal break-all text-muted">
                  {codeText(code)}
                </code>
              </th>
              <td data-label="Refused" className="number align-top">
                {whole(refusals)}
              </td>
              <td data-label="First, last" className="align-top">
                <span className="block">
                  <HourOf iso={firstHour} />
                </span>
                <HourOf iso={lastHour} />
              </td>
              <td data-label="What it means" className="wide align-top whitespace-normal">
                {meaning}
              </td>
              <td data-label="What to do" className="wide align-top whitespace-normal">
                {action}{' '}
                {helps ? (
                  <Link href={`/o/${org}/${helps.screen}`} className="inline-link whitespace-nowrap">
                    Open {helps.name}
                  </Link>
                ) : null}
              </td>
            </tr>
          );
        })}
      </tbody>
    </Table>
  );
}

interface RefusedProps {
  readonly org: string;
  readonly refusals: RefusalsView;
}

export function RefusedKeysTable({ org, refusals: { keys } }: RefusedProps) {
  return (
    <CountTable label="Refusals by key" column="Key" counted="Refused">
      {keys.map(({ keyId, key, keyPrefix, refusals, ...limits }) => (
        <CountRow key={keyId} href={`/o/${org}/keys/${keyId}`} name={key} count={refusals}>
          <span className="block text-xs font-normal text-muted">
            <code className="font-mono">{keyPrefix}…</code> · {limitsText(limits)}
          </span>
        </CountRow>
      ))}
    </CountTable>
  );
}

export function RefusedModelsTable({ org, refusals: { models } }: RefusedProps) {
  return (
    <CountTable label="Refusals by model" column="Model" counted="Refused">
      {models.map(({ modelId, model, modelDeleted, refusals }) => (
        <CountRow
          key={modelId}
          href={modelDeleted ? null : `/o/${org}/api/${modelId}`}
          name={model}
          count={refusals}
        >
          {modelDeleted ? <span className="font-normal text-muted"> (deleted)</span> : null}
        </CountRow>
      ))}
    </CountTable>
  );
}
