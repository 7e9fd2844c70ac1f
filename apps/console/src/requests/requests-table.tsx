import type { RequestView } from '@tidegate/control';
import { Fragment } from 'react';
import { CopyIcon } from '../ui/code.tsx';
import { Link } from '../ui/link.tsx';
import { duration, whole } from '../ui/numbers.ts';
import { Table } from '../ui/table.tsx';
import { Moment } from '../ui/time.tsx';
import { requestQueryOf } from './filter.ts';

interface RequestsTableProps {
  readonly org: string;
  readonly requests: readonly RequestView[];
}

export function RequestsTable({ org, requests }: RequestsTableProps) {
  return (
    <Table label="List of requests" cardsBelow="4xl">
      <thead>
        <tr>
          <th scope="col" className="w-26 @min-[68rem]:w-38">
            Time
          </th>
          <th scope="col">Key and model</th>
          <th scope="col" className="w-38">
            Result
          </th>
          <th scope="col" className="number w-30">
            Tokens in, out
          </th>
          <th scope="col" className="number w-22">
            Time taken
          </th>
          <th scope="col" className="number w-24">
            First chunk
          </th>
          <th scope="col" className="w-56 @min-[58rem]:w-62">
            Request id
          </th>
        </tr>
      </thead>
      <tbody>
        {requests.map((request) => (
          <Row key={request.id} at={`/o/${org}`} request={request} />
        ))}
      </tbody>
    </Table>
  );
}

/** @param at where the organization's pages are */
function Row({ at, request }: { at: string; request: RequestView }) {
  return (
    <tr>
      <th scope="row" className="align-top">
        <Moment iso={request.at} />
      </th>
      <td data-label="Key and model" className="wide align-top">
        {request.keyPrefix ? (
          <Link
            href={`${at}/keys/${request.keyId}`}
            className="-mt-0.5 block w-fit leading-6 font-medium quiet-link"
          >
            {request.key}
          </Link>
        ) : (
          <span className="block text-muted italic">{request.key}</span>
        )}
        {request.modelDeleted ? (
          <span className="text-muted">{request.model} (deleted)</span>
        ) : (
          <Link
            href={`${at}/api/${request.modelId}`}
            className="-mb-0.5 block w-fit leading-6 text-muted quiet-link"
          >
            {request.model}
          </Link>
        )}
      </td>
      <td data-label="Result" className="align-top">
        <Result request={request} />
      </td>
      <td data-label="Tokens in, out" className="number align-top">
        {request.promptTokens === null ? (
          <>
            Unreported
            <span className="block text-xs text-muted">{whole(request.chargedTokens)} charged</span>
          </>
        ) : (
          `${whole(request.promptTokens)}, ${whole(request.completionTokens ?? 0)}`
        )}
      </td>
      <td data-label="Time taken" className="number align-top">
        {duration(request.durationMs)}
      </td>
      <td data-label="First chunk" className="number align-top">
        {duration(request.firstChunkMs)}
      </td>
      <td data-label="Request id" className="wide align-top">
        <span className="flex items-start gap-1">
          <Link
            href={`${at}/requests${requestQueryOf({ id: request.id })}`}
            className="text-muted quiet-link"
          >
            <code className="font-mono text-[0.6875rem] tracking-tight break-all">{request.id}</code>
          </Link>
          <CopyIcon text={request.id} label={`Copy ${request.id}`} />
        </span>
      </td>
    </tr>
  );
}

/** The status that was sent, and why there was no complete answer. */
function Result({ request: { status, answered, code } }: { request: RequestView }) {
  return (
    <>
      <span
        className={`inline-flex items-center gap-1.5 tabular-nums ${answered ? '' : 'font-medium text-danger-soft-foreground'}`}
      >
        <span
          className={`size-2 shrink-0 rounded-full ${answered ? 'bg-(--chart-answered)' : 'bg-(--chart-errors)'}`}
          aria-hidden
        />
        {status ?? 'No status'}
      </span>
      {code === null ? null : (
        <code className="block font-mono text-xs wrap-anywhere text-muted">{breakable(code)}</code>
      )}
    </>
  );
}

/** The code, broken after an underscore where the column is narrow. */
const breakable = (code: string) =>
  code.split(/(?<=_)/).map((part) => (
    <Fragment key={part}>
      {part}
      <wbr />
    </Fragment>
  ));
