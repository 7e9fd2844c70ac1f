import type { ErrorsView } from '@tidegate/control';
import { type RequestChoice, requestQueryOf } from '../requests/filter.ts';
import { Link } from '../ui/link.tsx';
import { whole } from '../ui/numbers.ts';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { adviceOf, codeText } from './advice.ts';
import { CountRow, CountTable } from './count-table.tsx';

interface TablesProps {
  /** Of the list of requests. */
  readonly path: string;
  readonly errors: ErrorsView;
}

/** The address of the requests that a count consists of. */
const linkTo = ({ path, errors }: TablesProps, filter: Partial<RequestChoice>): string =>
  `${path}${requestQueryOf({ outcome: 'errors', from: errors.from.slice(0, 'YYYY-MM-DDTHH:MM'.length), ...filter })}`;

/** Each code with what it means and what to do. */
export function ErrorCodesTable({ path, errors }: TablesProps) {
  return (
    <Table label="Errors by code" cardsBelow="4xl" className="border-t border-border">
      <thead>
        <tr>
          <th scope="col" className="w-56">
            Code
          </th>
          <th scope="col" className="number w-24">
            Requests
          </th>
          <th scope="col" className="w-32">
            First, last
          </th>
          <th scope="col">What it means</th>
          <th scope="col">What to do</th>
        </tr>
      </thead>
      <tbody>
        {errors.codes.map(({ code, errors: count, firstAt, lastAt }) => (
          <tr key={code}>
            <th scope="row" className="align-top">
              <Link href={linkTo({ path, errors }, { outcome: code })} className="inline-link break-all">
                {codeText(code)}
              </Link>
            </th>
            <td data-label="Requests" className="number align-top">
              {whole(count)}
            </td>
            <td data-label="First, last" className="align-top">
              <span className="block">
                <Time iso={firstAt} />
              </span>
              <Time iso={lastAt} />
            </td>
            <td data-label="What it means" className="wide align-top whitespace-normal">
              {adviceOf(code).meaning}
            </td>
            <td data-label="What to do" className="wide align-top whitespace-normal">
              {adviceOf(code).action}
            </td>
          </tr>
        ))}
      </tbody>
    </Table>
  );
}

export function ErrorKeysTable({ path, errors }: TablesProps) {
  return (
    <CountTable label="Errors by key" column="Key" counted="Requests">
      {errors.keys.map(({ keyId, key, keyPrefix, errors: count }) => (
        <CountRow key={keyId} href={linkTo({ path, errors }, { key: keyId })} name={key} count={count}>
          {keyPrefix ? <code className="block font-mono text-xs text-muted">{keyPrefix}…</code> : null}
        </CountRow>
      ))}
    </CountTable>
  );
}

export function ErrorModelsTable({ path, errors }: TablesProps) {
  return (
    <CountTable label="Errors by model" column="Model" counted="Requests">
      {errors.models.map(({ modelId, model, modelDeleted, errors: count }) => (
        <CountRow
          key={modelId}
          href={linkTo({ path, errors }, { model: modelId })}
          name={model}
          count={count}
        >
          {modelDeleted ? <span className="text-muted"> (deleted)</span> : null}
        </CountRow>
      ))}
    </CountTable>
  );
}
